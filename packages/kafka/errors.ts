import kafkajs from "kafkajs";

import {
  ConfigurationError,
  KafkaUnavailableError,
  getErrorMessage,
  UnavailableError,
} from "@topicsync/lib/errors";
import { InvariantError } from "@topicsync/lib/invariant";
import type { SendRejection } from "./interface/records.ts";

/** The error codes of denied requests, with the kind of the missing right. */
const denials = {
  TOPIC_AUTHORIZATION_FAILED: "a right on a topic",
  GROUP_AUTHORIZATION_FAILED: "a right on a consumer group",
  CLUSTER_AUTHORIZATION_FAILED: "a right on the cluster",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "a right on a transactional id",
} as const;

type Denial = keyof typeof denials;

/** The missing right, with its resource, by error code. */
export type Rights = Readonly<Partial<Record<Denial, string>>>;

export const quoteTopic = (topic: string): string => `topic "${topic}"`;
export const quoteGroup = (group: string): string => `group "${group}"`;

/**
 * Converts an error of kafkajs: to a ConfigurationError that names the missing right if the broker denied the
 * request, to an UnavailableError otherwise. A fault of the program stays as it is.
 */
export function toKafkaError(error: unknown, rights: Rights = {}): Error {
  if (error instanceof UnavailableError || error instanceof ConfigurationError) return error;
  const denial = findDenial(error);
  if (denial === undefined) return findProgramFault(error) ?? toOutage(error);
  const right = rights[denial] ?? denials[denial];
  return new ConfigurationError(`Kafka denies its user ${right} (${denial})`, { cause: error });
}

/** Kafka rejects the login, or there is no token. It is tried again, because a login may be changed. */
export class LoginError extends kafkajs.KafkaJSNonRetriableError {
  override readonly name = "LoginError";
}

export function toOutage(error: unknown): KafkaUnavailableError {
  const causes = listCauses(error);
  const isLogin = causes.some((cause) => cause instanceof LoginError);
  const codes = causes.map((cause) => ("code" in cause ? String(cause.code) : ""));
  const signs = [...codes, ...causes.map(({ message }) => message)];
  const cure = tlsCures.find(([pattern]) => signs.some((sign) => pattern.test(sign)))?.[1] ?? "";
  const what = isLogin ? "rejects the login" : "does not respond";
  return new KafkaUnavailableError(`Kafka ${what}: ${getErrorMessage(error)}${cure}`, { cause: error });
}

/** What to check for which code of Node's TLS, or message of Node and kafkajs. */
const tlsCures: readonly (readonly [RegExp, string])[] = [
  [/^(?:UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_)/, ", check KAFKA_TLS_CA"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, ", name the brokers in KAFKA_BROKERS as their certificate does"],
  [/^ERR_SSL_.*ALERT_(?:.*CERTIFICATE|UNKNOWN_CA)/, ", check KAFKA_TLS_CERT and KAFKA_TLS_KEY"],
  [
    /^ERR_SSL_(?:WRONG_VERSION|PACKET_LENGTH)/,
    ", the listener has no TLS: check KAFKA_TLS and KAFKA_BROKERS",
  ],
  [
    /before secure TLS connection was established/,
    ", the listener may not expect TLS: check KAFKA_TLS and the port in KAFKA_BROKERS",
  ],
  // What a listener with TLS does with a client without, but also a broker that stops.
  [/^Closed connection$/, ", if it goes on, the listener may expect TLS: check KAFKA_TLS and the port"],
];

/** An error with its causes, the error first. */
export const listCauses = (error: unknown): Error[] =>
  error instanceof Error ? [error, ...listCauses(error.cause)] : [];

/** The errors of the language after which kafkajs does not repeat a request either. */
const programFaults: ReadonlySet<string> = new Set([
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
]);

/**
 * Finds a fault of the program, such as a value that cannot be encoded. kafkajs wraps it like a failure of
 * the cluster, and as an outage it would be tried again forever.
 */
const findProgramFault = (error: unknown): Error | undefined =>
  listCauses(error).findLast((cause) => cause instanceof InvariantError || programFaults.has(cause.name));

/** The denial's error code; undefined when the error is not a denial. */
export const findDenial = (error: unknown): Denial | undefined =>
  findTypes(error).find((type): type is Denial => Object.hasOwn(denials, type));

/** Whether an error of kafkajs, or one of its causes, has one of these Kafka error codes. */
export const hasType = (error: unknown, ...types: string[]): boolean =>
  findTypes(error).some((type) => types.includes(type));

/** Whether a broker responded with an error code, or does not know the request; false in an outage. */
export const isResponse = (error: unknown): boolean =>
  listCauses(error).some(
    (cause) =>
      cause instanceof kafkajs.KafkaJSProtocolError ||
      cause instanceof kafkajs.KafkaJSServerDoesNotSupportApiKey,
  );

/** The Kafka error codes in an error of kafkajs and its causes. */
const findTypes = (error: unknown): string[] =>
  listCauses(error).flatMap((cause) => {
    const parts: unknown[] = "errors" in cause && Array.isArray(cause.errors) ? cause.errors : [];
    return ["type" in cause ? String(cause.type) : "", ...parts.flatMap(findTypes)];
  });

/**
 * The errors for records that the broker will never accept (Kafka's protocol, "Error Codes"). Brokers before
 * 2.4 report a record without a key on a compacted topic as CORRUPT_MESSAGE.
 */
const sendRejections: ReadonlyMap<string, SendRejection["reason"]> = new Map([
  ["MESSAGE_TOO_LARGE", "too-large"],
  ["RECORD_LIST_TOO_LARGE", "too-large"],
  ["INVALID_TIMESTAMP", "not-acceptable"],
  ["INVALID_RECORD", "not-acceptable"],
  ["CORRUPT_MESSAGE", "not-acceptable"],
  ["UNSUPPORTED_FOR_MESSAGE_FORMAT", "not-acceptable"],
]);

/** Why the broker will never accept these records; undefined for other errors. */
export function findSendRejection(error: unknown): SendRejection | undefined {
  for (const cause of listCauses(error)) {
    const reason = "type" in cause ? sendRejections.get(String(cause.type)) : undefined;
    if (reason !== undefined) return { reason, message: cause.message };
  }
  return undefined;
}
