import { once } from "node:events";

/** Standard output with backpressure. */
export interface Output {
  /** Resolves to false once the reader has closed the pipe (`… | head`); stop writing then. */
  write(data: string | Uint8Array): Promise<boolean>;
}

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

/** Ignores EPIPE, so that `… | head` ends a command without an error; calls `onClose` instead. */
export function ignoreBrokenPipe(
  stream: NodeJS.WriteStream = process.stdout,
  onClose: () => void = () => undefined,
): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    onClose();
  });
}

/** Escapes control and format characters, so that stored text cannot send commands to the terminal. */
export const sanitize = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\n" ? "\\n" : `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );

/** Prints a line of the command's result, on standard output. */
export const printLine = (text: string): void => void process.stdout.write(`${text}\n`);

/** Prints the command's result as indented JSON, on standard output. */
export const printJson = (value: unknown): void => {
  printLine(JSON.stringify(value, undefined, 2));
};

export const printError = (text: string): void => void process.stderr.write(`${text}\n`);
