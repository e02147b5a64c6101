import { KafkaUnavailable, messageOf, Unavailable } from "../errors.ts";
import type { Rejection } from "../records.ts";

/** The error as the rest of the program knows it. */
export const unavailable = (error: unknown): Unavailable =>
  error instanceof Unavailable
    ? error
    : new KafkaUnavailable(`Kafka does not answer: ${messageOf(error)}`, { cause: error });

/**
 * What a broker answers to a record that it will never take as it is (Kafka's protocol, "Error Codes"). Brokers before 2.4
 * call a record without a key CORRUPT_MESSAGE where the topic is compacted.
 */
const rejections: ReadonlyMap<string, Rejection["reason"]> = new Map([
  ["MESSAGE_TOO_LARGE", "too-large"],
  ["RECORD_LIST_TOO_LARGE", "too-large"],
  ["INVALID_TIMESTAMP", "not-acceptable"],
  ["INVALID_RECORD", "not-acceptable"],
  ["CORRUPT_MESSAGE", "not-acceptable"],
  ["UNSUPPORTED_FOR_MESSAGE_FORMAT", "not-acceptable"],
]);

/** Why the broker will never take what was sent; undefined when the error says nothing of that kind. */
export function findRejection(error: unknown): Rejection | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const reason = "type" in cause ? rejections.get(String(cause.type)) : undefined;
    if (reason !== undefined) return { reason, message: cause.message };
  }
  return undefined;
}
