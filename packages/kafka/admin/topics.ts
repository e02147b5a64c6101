import type { Admin } from "kafkajs";

import { ConfigurationError, KafkaUnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import type { KafkaConfig, RouterConfig } from "../interface/config.ts";
import { findDenial, quoteTopic, toKafkaError } from "../errors.ts";
import { errorCodes } from "../protocol/error-codes.ts";
import { createError } from "../protocol/request.ts";
import type { KafkaRequests } from "../requests.ts";
import type { TopicCreation } from "./topic-creation.ts";
import { checkTopics, type CheckedTopic, type TopicSettings } from "./topic-checks.ts";

/** The clients by which the service looks up, creates and checks topics. */
export interface AdminClients {
  readonly admin: Admin;
  readonly requests: Pick<KafkaRequests, "fetchMetadata" | "createTopics">;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Compaction keeps the last definition of each topic. Tombstones outlive a consumer outage of 30 days. */
const announcementSettings = {
  "cleanup.policy": "compact",
  "delete.retention.ms": String(30 * dayMs),
} satisfies TopicSettings;

/**
 * Nothing is deleted. The size limit leaves room for the headers that are added to a record of the default
 * limit.
 */
const deadLetterSettings = {
  "cleanup.policy": "delete",
  "retention.ms": "-1",
  "retention.bytes": "-1",
  "max.message.bytes": "2097152",
} satisfies TopicSettings;

/** A Kafka topic of the service, and the settings that it is created with. */
interface OwnTopic extends CheckedTopic {
  /** 1 when absent; -1 for the broker's default. */
  readonly numPartitions?: number;
  /** The broker's default when absent. */
  readonly replicationFactor?: number;
}

function listOwnTopics(config: KafkaConfig): OwnTopic[] {
  const { announcementsTopic, deadLetterTopic, pushFeedback, router } = config;
  return [
    { topic: announcementsTopic, settings: announcementSettings },
    { topic: deadLetterTopic, settings: deadLetterSettings },
    // The broker's default retention is enough: a token that is still dead is reported again.
    ...(pushFeedback === undefined
      ? []
      : [
          { topic: pushFeedback.topic, settings: {} },
          { topic: pushFeedback.deadLetterTopic, settings: deadLetterSettings },
        ]),
    ...(router === undefined
      ? []
      : [
          // Use the broker's default partition count; only events with the same key must stay in order.
          { topic: router.topic, settings: {}, numPartitions: -1 },
          { topic: router.deadLetterTopic, settings: deadLetterSettings, mayExpire: true },
          // Those of single topics are created when events need them, if that is configured.
          ...(router.egressTopic.includes("{") ? [] : [toFixedEgress(router)]),
          ...(router.unmatchedTopic === undefined
            ? []
            : [{ topic: router.unmatchedTopic, settings: {}, numPartitions: -1 }]),
        ]),
  ];
}

const toFixedEgress = ({ egressTopic, newEgress: { partitions, replication } }: RouterConfig): OwnTopic => ({
  topic: egressTopic,
  settings: {},
  numPartitions: partitions ?? -1,
  replicationFactor: replication ?? -1,
});

/** The Kafka topics that exactly-once forwarding rests on, besides those of the service. */
const listOthersTopics = ({ router }: KafkaConfig): CheckedTopic[] =>
  router === undefined
    ? []
    : ["__consumer_offsets", "__transaction_state"].map((topic) => ({ topic, settings: {} }));

/**
 * Creates missing topics, those whose order matters with one partition, and warns about settings that lose
 * records. Does not change existing topics. Throws a ConfigurationError when the broker denies a right.
 */
export async function ensureTopics(clients: AdminClients, config: KafkaConfig, log: Logger): Promise<void> {
  const topics = listOwnTopics(config);
  const names = topics.map(({ topic }) => topic);
  const metadata = await clients.requests.fetchMetadata(names);
  const unknown = new Set(metadata.topics.filter(({ error }) => isUnknown(error)).map(({ name }) => name));
  const missing = topics.filter(({ topic }) => unknown.has(topic));
  if (missing.length > 0) await createTopics(clients.requests, missing, log);
  const checked = [...topics, ...listOthersTopics(config)];
  const found = await clients.requests.fetchMetadata(checked.map(({ topic }) => topic));
  await checkTopics({ admin: clients.admin, metadata: found }, checked, log);
}

/** Kafka hides from users without a right on a topic whether it exists. */
const isUnknown = (error: number): boolean =>
  error === errorCodes.unknownTopicOrPartition || error === errorCodes.topicAuthorizationFailed;

async function createTopics(
  requests: AdminClients["requests"],
  topics: readonly OwnTopic[],
  log: Logger,
): Promise<void> {
  const creations = await requests.createTopics(
    topics.map(({ topic: name, settings, numPartitions: partitions = 1, replicationFactor = -1 }) => ({
      ...{ name, settings, partitions },
      replication: replicationFactor,
    })),
  );
  const created = creations.filter(({ isCreated }) => isCreated).map(({ name }) => name);
  if (created.length > 0) log.info({ topics: created }, "kafka topics created");
  const denied = creations.filter(isDenied);
  for (const { refusal } of denied)
    if (refusal !== undefined) throw toKafkaError(refusal.error, toRights(topics, denied));
  for (const { name, refusal } of creations) if (refusal !== undefined) throw toRefusalError(name, refusal);
  // Another instance has just created the others, or they are hidden from this user.
  const existing = creations.filter(({ isCreated }) => !isCreated).map(({ name }) => name);
  if (existing.length === 0) return;
  const { topics: found } = await requests.fetchMetadata(existing);
  const [hidden] = found.filter(({ error }) => error !== 0);
  if (hidden !== undefined) throw toKafkaError(createError(hidden.error), toRights(topics, [hidden]));
}

const isDenied = ({ refusal }: TopicCreation): boolean =>
  refusal !== undefined && findDenial(refusal.error) !== undefined;

/** Kafka responds in another order than it was asked. */
function toRights(topics: readonly OwnTopic[], denied: readonly { readonly name: string }[]) {
  const names = topics.map(({ topic }) => topic).filter((topic) => denied.some(({ name }) => name === topic));
  const right = `Describe on ${names.map(quoteTopic).join(", ")}, and Create where it does not exist`;
  return { TOPIC_AUTHORIZATION_FAILED: right };
}

function toRefusalError(
  name: string,
  { reason, error, isFinal }: NonNullable<TopicCreation["refusal"]>,
): Error {
  const what = `Kafka does not create the ${quoteTopic(name)}: ${reason}`;
  return isFinal
    ? new ConfigurationError(`${what}. Create it yourself, or change what it refuses`, { cause: error })
    : new KafkaUnavailableError(what, { cause: error });
}
