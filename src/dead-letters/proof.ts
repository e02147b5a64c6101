import { createHmac, timingSafeEqual } from "node:crypto";

import {
  getHeaderText,
  withHeaders,
  type LogRecord,
  type OutgoingRecord,
  type RecordProducer,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";

type Content = Pick<LogRecord, "key" | "value" | "headers">;

/**
 * Proves that topicsync has sent a record to a Kafka topic, as a replay or as a dead letter: others who may
 * write there can write any header, but do not know the key. The proof covers everything that is used of the
 * record. See docs/decisions/018-signed-replays.md.
 */
export function createProof(secret: Buffer, topic: string, { key, value, headers }: Content): string {
  const hmac = createHmac("sha256", secret);
  const add = (part: Buffer | string | null): void => {
    const bytes = Buffer.from(part ?? "");
    hmac.update(`${bytes.length}:`).update(bytes);
  };
  add(topic);
  // A record without a key differs from one with an empty key.
  add(key === null ? "no key" : "key");
  add(key);
  add(value);
  // A program that passes the record on, such as a mirror, may change the order of names.
  for (const [name, text] of headers.toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))) {
    if (name === deadLetterHeader.proof) continue;
    add(name);
    add(text);
  }
  return hmac.digest("base64url");
}

/** Adds the proof to a record that is sent to a Kafka topic. */
export const addProof = (secret: Buffer, topic: string, record: OutgoingRecord): OutgoingRecord => ({
  ...record,
  headers: withHeaders(record.headers, [[deadLetterHeader.proof, createProof(secret, topic, record)]]),
});

/** Whether topicsync has sent a record to a Kafka topic. */
export function isProven(secret: Buffer, topic: string, record: Content): boolean {
  const given = Buffer.from(getHeaderText(record.headers, deadLetterHeader.proof) ?? "");
  const expected = Buffer.from(createProof(secret, topic, record));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether a record of a Kafka topic is a replay that topicsync has sent there. */
export const isProvenReplay = (secret: Buffer, topic: string, record: Content): boolean =>
  getHeaderText(record.headers, deadLetterHeader.replayOf) !== undefined && isProven(secret, topic, record);

interface ProofOptions {
  readonly topic: string;
  /** Reads the key of the proofs. Throws UnavailableError. */
  readonly getProofKey: () => Promise<Buffer>;
}

/** Adds proofs to dead letters that a producer sends. */
export const proveDeadLetters = (
  producer: Pick<RecordProducer, "send">,
  { topic, getProofKey }: ProofOptions,
): Pick<RecordProducer, "send"> => ({
  async send(records) {
    const key = await getProofKey();
    return producer.send(records.map((record) => addProof(key, topic, record)));
  },
});
