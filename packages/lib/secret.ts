import { readFileSync } from "node:fs";

import type { Logger } from "./logger.ts";
import { Rotated } from "./concurrency/rotated.ts";

/** A secret of the settings. */
export interface Secret {
  /** The variable that it comes from. */
  readonly setting: string;
  readonly value: string;
  /** The file that it was read from, which is read again when it changes. */
  readonly file: string | undefined;
}

/** Reads a secret, without the final newline. Throws if there is none. */
export function readSecretFile(file: string): string {
  const secret = readFileSync(file, "utf8").replace(/\r?\n$/, "");
  if (secret === "") throw new Error(`${file} is empty`);
  return secret;
}

/** Returns a function that returns the current secret. */
export function followSecret({ setting, value, file }: Secret, log: Logger): () => string {
  if (file === undefined) return () => value;
  const rotated = new Rotated({ setting, initial: value, read: () => readSecretFile(file), log });
  return () => rotated.get();
}
