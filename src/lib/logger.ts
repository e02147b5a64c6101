import { pino, stdSerializers, symbols, type DestinationStream, type Logger } from "pino";

import { getErrorMessage, redactTokens } from "./errors.ts";
import { openLineFile } from "./line-file.ts";

export type { Logger };

/** Members that must never be seen in a log, wherever they stand in a logged object's first two levels. */
const secrets = ["authorization", "password", "password_hash", "token"];

/**
 * What is logged of an error: its kind, message, code and stack, with those of its causes. Not its other members, as pino
 * does it: errors of MongoDB carry the documents that could not be written, and those have tokens in them.
 */
export function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return getErrorMessage(error);
  const { type, message, stack } = stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  return {
    type,
    message: redactTokens(message),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    stack: redactTokens(stack),
  };
}

/**
 * Makes the program's logger: readable lines when it goes to a terminal, JSON lines otherwise. A command whose answer
 * goes to standard output logs to standard error. Secrets are replaced by `[redacted]`.
 */
export async function createLogger(level: string, to: "stdout" | "stderr" = "stdout"): Promise<Logger> {
  const options = {
    level,
    base: null,
    serializers: { err: serializeError },
    redact: { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
  };
  const { isTTY, fd: destination } = process[to];
  if (!isTTY)
    return pino(
      options,
      to === "stderr" ? pino.destination({ dest: destination, sync: true }) : buffered(destination),
    );
  const { default: pretty } = await import("pino-pretty");
  return pino(
    options,
    pretty({ translateTime: "SYS:HH:MM:ss.l", ignore: "pid,hostname", sync: true, destination }),
  );
}

/** A busy service logs thousands of lines a second: written one by one they would cost more than what they tell of. */
const bufferBytes = 32 * 1024;
const flushEveryMs = 100;
const warning = 40;

/** Gathers lines for a moment; those of warnings and errors are written at once, with all before them. */
function buffered(fd: number): DestinationStream {
  const { file, write } = openLineFile({
    dest: fd,
    minLength: bufferBytes,
    maxWrite: 2 * bufferBytes,
    periodicFlush: flushEveryMs,
  });
  return {
    // Asks pino to set `lastLevel` before each line.
    [symbols.needsMetadataGsym]: true,
    lastLevel: 0,
    write(line: string) {
      write(line);
      if (this.lastLevel >= warning) file.flush();
    },
    // Called by pino after the line of an error that ends the program.
    flushSync() {
      file.flushSync();
    },
  } as DestinationStream & { readonly lastLevel: number };
}

/** Where a logger's lines go: whoever else writes there goes through it, so that no line is torn. */
export const getLogOutput = (log: Logger): DestinationStream =>
  (log as unknown as Record<typeof symbols.streamSym, DestinationStream>)[symbols.streamSym];
