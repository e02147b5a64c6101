import { once } from "node:events";

/** Standard output, written no faster than it is read. */
export interface Output {
  /** False once nobody reads any more (`… | head`): nothing need be written then. */
  write(data: string | Uint8Array): Promise<boolean>;
}

/** Opens standard output. */
export function openOutput(stream: NodeJS.WriteStream = process.stdout): Output {
  const closed = new AbortController();
  ignoreBrokenPipe(stream, () => {
    closed.abort();
  });
  return {
    async write(data) {
      if (closed.signal.aborted) return false;
      if (!stream.write(data)) await once(stream, "drain", { signal: closed.signal }).catch(() => undefined);
      return !closed.signal.aborted;
    },
  };
}

/**
 * Lets whoever reads standard output stop reading (`… | head`) without a word: what is written then goes nowhere, and
 * `closed` is called.
 */
export function ignoreBrokenPipe(
  stream: NodeJS.WriteStream = process.stdout,
  closed: () => void = () => undefined,
): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    closed();
  });
}

/** Text as it may be shown: whoever wrote a record must not command the terminal of whoever reads it. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\n" ? "\\n" : `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );

/** A line of a command's answer, on standard output. */
export const printLine = (text: string): void => void process.stdout.write(`${text}\n`);

/** A line beside the answer, on standard error. */
export const printError = (text: string): void => void process.stderr.write(`${text}\n`);
