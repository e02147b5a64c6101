/** The steps of producers in the sync's world. */
import fc from "fast-check";

import { partition, weighted } from "./steps.ts";

/**
 * What a producer sends. `variant` selects one of few definitions, so that topics compete for combinations.
 */
export interface SentRecord {
  readonly id: number;
  readonly kind: "define" | "retire" | "malformed" | "keyless tombstone";
  readonly variant: number;
  /** How far its timestamp is off, where timestamps may be. */
  readonly skewMs: number;
}

/** Which topics users and producers mean, and with which definitions. */
export interface Meant {
  readonly id: fc.Arbitrary<number>;
  readonly variant: fc.Arbitrary<number>;
}

const createRecord = (meant: Meant): fc.Arbitrary<SentRecord> =>
  fc.record<SentRecord>({
    ...meant,
    kind: fc.constantFrom<SentRecord["kind"]>(
      "define",
      "define",
      "define",
      "define",
      "retire",
      "retire",
      "malformed",
      "keyless tombstone",
    ),
    skewMs: fc.integer({ min: -100_000, max: 100_000 }),
  });

export const createSending = (meant: Meant) => [
  weighted(
    30,
    fc.record({
      do: fc.constant("produce"),
      partition,
      records: fc.array(createRecord(meant), { minLength: 1, maxLength: 6 }),
      transaction: fc.constantFrom("none", "none", "none", "commit", "abort", "leave open"),
    }),
  ),
  weighted(4, fc.record({ do: fc.constant("end transaction"), partition, commit: fc.boolean() })),
];
