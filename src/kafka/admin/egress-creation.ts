import type { Admin } from "kafkajs";

import type { NewEgress } from "../../kafka-config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { findDenial, hasType, toKafkaError } from "../errors.ts";

/** A request of this size takes the broker less than its time limit. */
const maxTopicsPerRequest = 200;

/** Why a Kafka topic is not created, unless that may be different in a moment. */
const finalRefusals = [
  "INVALID_TOPIC_EXCEPTION",
  "POLICY_VIOLATION",
  "INVALID_CONFIG",
  "INVALID_PARTITIONS",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
];

/** Why Kafka topics were not created, by name. Those that another process has created are not among them. */
export type CreationFailures = ReadonlyMap<string, CreationFailure>;

interface CreationFailure {
  readonly reason: string;
  readonly isFinal: boolean;
}

/** A refusal without a failure means that the Kafka topic exists. */
type Refusal = readonly [topic: string, failure: CreationFailure | undefined];

interface CreationOptions {
  readonly create: NewEgress;
  /** Called with those that each request has created, also if a later one fails. */
  readonly onCreated: (names: readonly string[]) => void;
  readonly log: Logger;
}

/** Creates Kafka topics for events. Throws UnavailableError in an outage. */
export async function createEgress(
  admin: Admin,
  names: readonly string[],
  { create, onCreated, log }: CreationOptions,
): Promise<CreationFailures> {
  const failures = new Map<string, CreationFailure>();
  const { partitions: numPartitions = -1, replication: replicationFactor = -1 } = create;
  for (let first = 0; first < names.length; first += maxTopicsPerRequest) {
    const topics = names
      .slice(first, first + maxTopicsPerRequest)
      .map((topic) => ({ topic, numPartitions, replicationFactor }));
    const refusals = await admin.createTopics({ topics }).then(
      // The result is false if all of them exist.
      (isCreated) => (isCreated ? [] : topics.map(({ topic }): Refusal => [topic, undefined])),
      (error: unknown) => findRefusals(error, topics),
    );
    const refused = new Set(refusals.map(([topic]) => topic));
    const added = topics.map(({ topic }) => topic).filter((topic) => !refused.has(topic));
    for (const [topic, failure] of refusals) if (failure !== undefined) failures.set(topic, failure);
    if (added.length === 0) continue;
    log.info({ count: added.length, topics: added.slice(0, 10) }, "egress topics created");
    onCreated(added);
  }
  return failures;
}

/** Finds the Kafka topics that the broker refused to create. Throws UnavailableError in an outage. */
function findRefusals(error: unknown, topics: readonly { readonly topic: string }[]): Refusal[] {
  const parts =
    error instanceof Error && "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  if (parts.length > 0)
    return (parts as readonly (Error & { readonly topic?: string })[]).map((part) => [
      part.topic ?? "",
      hasType(part, "TOPIC_ALREADY_EXISTS") ? undefined : toFailure(part),
    ]);
  if (findDenial(error) === undefined) throw toKafkaError(error);
  return topics.map(({ topic }) => [topic, toFailure(error)]);
}

const toFailure = (error: unknown): CreationFailure => ({
  reason: `it cannot be created: ${getErrorMessage(error)}`,
  isFinal: hasType(error, ...finalRefusals),
});
