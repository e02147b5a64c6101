/** What the errors mean with which kafkajs ends a member of a consumer group. */

import kafkajs from "kafkajs";

import { ConfigurationError } from "@topicsync/lib/errors";
import { hasType, listCauses, LoginError } from "./errors.ts";

/** The answers to a join that stay the same until a person changes something. */
const joinFaults = ["INCONSISTENT_GROUP_PROTOCOL", "INVALID_GROUP_ID", "INVALID_SESSION_TIMEOUT"] as const;

/** Finds why a group does not accept the member, and what to change. */
export function findJoinFault(error: Error, sessionTimeoutMs: number): ConfigurationError | undefined {
  const type = joinFaults.find((one) => hasType(error, one));
  if (type === undefined) return undefined;
  const cure =
    type === "INVALID_SESSION_TIMEOUT"
      ? `let group.min.session.timeout.ms and group.max.session.timeout.ms of the broker allow ${sessionTimeoutMs} ms`
      : "use a consumer group with another name, which no other program uses";
  return new ConfigurationError(`Kafka rejects the member of the group (${type}): ${cure}`, { cause: error });
}

/**
 * The message of an error that has no type: kafkajs 2.2.4 used a connection that broke while it was being set
 * up (broker/index.js).
 */
const notConnected = "Broker not connected";

/**
 * Whether this is an outage, although kafkajs does not restart the member: a broker responded with an error
 * code, no broker knew the group's coordinator, a connection broke early or was not set up in time, or the
 * login is rejected, as while it is being changed. A member that joins again gets this error as the cause of
 * another one (kafkajs' retry/index.js).
 */
export const isMemberOutage = (error: unknown): boolean =>
  listCauses(error).some(
    (cause) =>
      cause instanceof kafkajs.KafkaJSProtocolError ||
      cause instanceof kafkajs.KafkaJSGroupCoordinatorNotFound ||
      cause instanceof kafkajs.KafkaJSLockTimeout ||
      cause instanceof LoginError ||
      cause.message === notConnected,
  );
