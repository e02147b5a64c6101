import { hash } from "node:crypto";

import type { Replay } from "./stores.ts";

/**
 * The id of the next sending of a letter, by those that are known. Whoever knows the same sendings comes to the same id, so of
 * two that are about to send the letter once more, the store lets only one begin.
 */
export const replayIdAfter = (letter: string, known: readonly Pick<Replay, "id">[]): string =>
  hash("sha256", JSON.stringify([letter, ...known.map(({ id }) => id).toSorted()]), "hex").slice(0, 32);
