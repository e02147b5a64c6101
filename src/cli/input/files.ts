import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";

import { InvalidArgumentError } from "commander";

import { getErrorMessage } from "@topicsync/lib/errors";

/** Collects the values of a `<file...>` argument; "-", standard input, may be given once. */
export function collectFile(file: string, previous: string[] | undefined): string[] {
  if (file === "-" && previous?.includes("-") === true)
    throw new InvalidArgumentError("Standard input can be read only once.");
  return [...(previous ?? []), file];
}

/** Opens a file; "-" is standard input. */
const openInput = (file: string): Readable => (file === "-" ? process.stdin : createReadStream(file));

/**
 * Returns the size of all files in bytes; standard input and pipes count as 0. Throws when one cannot be
 * read.
 */
export async function getTotalSize(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(getSize));
  return sizes.reduce((a, b) => a + b, 0);
}

async function getSize(file: string): Promise<number> {
  if (file === "-") return 0;
  const found = await stat(file).catch((error: unknown) => {
    throw toReadError(file, error);
  });
  if (found.isDirectory()) throw toReadError(file, "it is a directory");
  return found.size;
}

const toReadError = (file: string, error: unknown): Error =>
  new Error(`cannot read ${file}: ${getErrorMessage(error)}`, { cause: error });

/** Reads a whole file; "-" is standard input. Throws when it cannot be read. */
export async function readTextFile(file: string): Promise<string> {
  try {
    return await text(openInput(file));
  } catch (error) {
    throw toReadError(file, error);
  }
}

export interface Line {
  readonly text: string;
  /** Starts at 1. */
  readonly number: number;
  /** Size of the file up to the end of this line. */
  readonly bytes: number;
}

const lineFeed = 0x0a;

/** Reads a file line by line; "-" is standard input. Throws when it cannot be read. */
export async function* readLines(file: string): AsyncGenerator<Line> {
  try {
    yield* splitLines(openInput(file));
  } catch (error) {
    throw toReadError(file, error);
  }
}

/**
 * Splits a stream at LF and CRLF. `node:readline` does not fit: it also breaks lines at U+2028, which JSON
 * allows inside strings.
 */
export async function* splitLines(stream: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let pieces: Buffer[] = [];
  let number = 0;
  let before = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      number += 1;
      const whole = concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      start = end + 1;
      yield { text: decodeLine(whole, number), number, bytes: before + start };
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    before += chunk.length;
  }
  if (pieces.length > 0)
    yield { text: decodeLine(concat(pieces), number + 1), number: number + 1, bytes: before };
}

const concat = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);

/** Strips the carriage return at the end and the byte order mark of the first line. */
function decodeLine(bytes: Buffer, number: number): string {
  const line = bytes.toString("utf8").replace(/\r$/u, "");
  return number === 1 ? line.replace(/^\uFEFF/u, "") : line;
}

/** Parses JSON; returns the error instead of throwing it. */
export function tryParseJson(text: string, parse: (json: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text);
  } catch (error) {
    return error instanceof Error ? error : new Error(getErrorMessage(error));
  }
}
