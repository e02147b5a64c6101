import {
  ConfigurationError,
  KafkaUnavailableError,
  getErrorMessage,
  UnavailableError,
} from "../lib/errors.ts";
import type { Rejection } from "../sync/records.ts";

/** What a broker answers when its access rules deny something, and of what kind the missing right is. */
const denials = {
  TOPIC_AUTHORIZATION_FAILED: "a right on a topic",
  GROUP_AUTHORIZATION_FAILED: "a right on a consumer group",
  CLUSTER_AUTHORIZATION_FAILED: "a right on the cluster",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "a right on a transactional id",
} as const;

type Denial = keyof typeof denials;

/** The right whose lack each answer means, with its resource. */
export type Rights = Readonly<Partial<Record<Denial, string>>>;

export const quoteTopic = (topic: string): string => `topic "${topic}"`;
export const quoteGroup = (group: string): string => `group "${group}"`;

/**
 * The error as the rest of the program knows it: a ConfigurationError that names the missing right where the broker denies
 * something, an outage otherwise.
 */
export function toKafkaError(error: unknown, rights: Rights = {}): UnavailableError | ConfigurationError {
  if (error instanceof UnavailableError || error instanceof ConfigurationError) return error;
  const denial = findDenial(error);
  if (denial === undefined)
    return new KafkaUnavailableError(`Kafka does not answer: ${getErrorMessage(error)}`, { cause: error });
  const right = rights[denial] ?? denials[denial];
  return new ConfigurationError(`Kafka denies its user ${right} (${denial})`, { cause: error });
}

/** What the broker denied; undefined when the error is of another kind. */
export const findDenial = (error: unknown): Denial | undefined =>
  findTypes(error).find((type): type is Denial => Object.hasOwn(denials, type));

/** The types of the broker's answers that an error of kafkajs was made of. */
function findTypes(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const own = "type" in error ? [String(error.type)] : [];
  const parts: unknown[] = "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  return [...own, ...parts.flatMap(findTypes), ...findTypes(error.cause)];
}

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
