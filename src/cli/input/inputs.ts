import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";

import { InvalidArgumentError } from "commander";

import { getErrorMessage } from "../../lib/errors.ts";

/** Collects file arguments; "-", standard input, may stand only once. */
export function unique(file: string, before: string[] | undefined): string[] {
  if (file === "-" && before?.includes("-") === true)
    throw new InvalidArgumentError("Standard input can be read only once.");
  return [...(before ?? []), file];
}

/** The bytes of a file; "-" is standard input. */
export const openInput = (file: string): Readable => (file === "-" ? process.stdin : createReadStream(file));

/** How many bytes the files have together; standard input and pipes count as none. Throws when one cannot be read. */
export async function getTotalSize(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(fileSize));
  return sizes.reduce((a, b) => a + b, 0);
}

async function fileSize(file: string): Promise<number> {
  if (file === "-") return 0;
  const found = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (found.isDirectory()) throw unreadable(file, "it is a folder");
  return found.size;
}

/** The error of a file that cannot be read. */
export const unreadable = (file: string, error: unknown): Error =>
  new Error(`cannot read ${file}: ${getErrorMessage(error)}`, { cause: error });

/** The text of a whole file; "-" is standard input. Throws when it cannot be read. */
export async function textIn(file: string): Promise<string> {
  try {
    return await text(openInput(file));
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** A line, where it stands, and how many bytes of the file lie up to its end. */
export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  readonly bytes: number;
}

const newline = 0x0a;

/**
 * The lines of a stream of bytes, ended by line feeds, with or without a carriage return. Nothing else ends one: JSON may hold
 * U+2028, where `node:readline` would break it.
 */
export async function* linesIn(stream: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let pieces: Buffer[] = [];
  let number = 0;
  let before = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      number += 1;
      const whole = joined([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      start = end + 1;
      yield { text: lineText(whole, number), number, bytes: before + start };
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    before += chunk.length;
  }
  if (pieces.length > 0)
    yield { text: lineText(joined(pieces), number + 1), number: number + 1, bytes: before };
}

const joined = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);

/** Without a carriage return at the end, and without a byte order mark at the file's beginning. */
function lineText(bytes: Buffer, number: number): string {
  const line = bytes.toString("utf8").replace(/\r$/u, "");
  return number === 1 ? line.replace(/^\uFEFF/u, "") : line;
}
