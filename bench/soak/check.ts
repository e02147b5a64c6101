import { readFileSync } from "node:fs";

import type { Db } from "mongodb";

import { collections } from "../../src/storage/names.ts";
import { createNumberedTokens } from "./load.ts";

export interface SoakCheck {
  /** Acknowledged at least once. */
  readonly tokens: number;
  /** Not in the store, or not active. */
  readonly missing: number;
  /** Last seen before their last acknowledged registration was sent, so that it was lost. */
  readonly outdated: number;
}

interface Stored {
  readonly token: string;
  readonly active: boolean;
  readonly last_seen_on: Date;
}

/** Compares the store with the acknowledgements that the clients recorded (see client.ts). */
export async function checkStored(
  db: Db,
  { seed, sentFile }: { seed: string; sentFile: string },
): Promise<SoakCheck> {
  const { buffer, byteOffset, byteLength } = readFileSync(sentFile);
  const sentOn = new Float64Array(buffer.slice(byteOffset, byteOffset + byteLength));
  const { number } = createNumberedTokens(seed);
  const stored = db
    .collection<Stored>(collections.installations)
    .find({}, { projection: { _id: 0, token: 1, active: 1, last_seen_on: 1 }, batchSize: 10_000 });
  const tokens = sentOn.reduce((count, sent) => (sent === 0 ? count : count + 1), 0);
  let found = 0;
  let outdated = 0;
  for await (const { token, active, last_seen_on: seen } of stored) {
    const sent = sentOn[number(token)] ?? 0;
    if (sent === 0 || !active) continue;
    found += 1;
    if (seen.getTime() < sent) outdated += 1;
  }
  return { tokens, missing: tokens - found, outdated };
}
