import { createHmac, timingSafeEqual } from "node:crypto";

import { deadLetterHeader } from "../../schemas/dead-letter-record.ts";
import { getHeaderText, type LogRecord } from "../sync/records.ts";

type Content = Pick<LogRecord, "key" | "value" | "headers">;

/**
 * Proves that a record was sent to a Kafka topic as a replay: producers of events can write any header, but
 * do not know the key. The proof covers everything that is used of a replay. See
 * docs/decisions/018-signed-replays.md.
 */
export function createReplayProof(secret: Buffer, topic: string, { key, value, headers }: Content): string {
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

/** Whether a record of a Kafka topic is a replay that topicsync has sent there. */
export function isProvenReplay(secret: Buffer, topic: string, record: Content): boolean {
  if (getHeaderText(record.headers, deadLetterHeader.replayOf) === undefined) return false;
  const given = Buffer.from(getHeaderText(record.headers, deadLetterHeader.proof) ?? "");
  const expected = Buffer.from(createReplayProof(secret, topic, record));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
