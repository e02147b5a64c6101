import type { Admin } from "kafkajs";

import type { KafkaConfig, RouterConfig } from "../../kafka-config.ts";
import type { Logger } from "../../lib/logger.ts";
import { quoteTopic, toKafkaError } from "../errors.ts";
import { errorCodes } from "../protocol/error-codes.ts";
import { failOnError } from "../protocol/request.ts";
import type { KafkaRequests } from "../requests.ts";
import { checkTopics, type CheckedTopic, type TopicSettings } from "./topic-checks.ts";

/** The clients by which the service looks up, creates and checks topics. */
export interface AdminClients {
  readonly admin: Admin;
  readonly requests: Pick<KafkaRequests, "fetchMetadata">;
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
  if (missing.length > 0) await createTopics(clients, missing, log);
  const checked = [...topics, ...listOthersTopics(config)];
  const found = await clients.requests.fetchMetadata(checked.map(({ topic }) => topic));
  await checkTopics({ admin: clients.admin, metadata: found }, checked, log);
}

/** Kafka hides from users without a right on a topic whether it exists. */
const isUnknown = (error: number): boolean =>
  error === errorCodes.unknownTopicOrPartition || error === errorCodes.topicAuthorizationFailed;

async function createTopics(
  { admin, requests }: AdminClients,
  topics: readonly OwnTopic[],
  log: Logger,
): Promise<void> {
  const names = topics.map(({ topic }) => topic);
  try {
    const isCreated = await admin.createTopics({
      topics: topics.map(({ topic, settings, numPartitions = 1, replicationFactor = -1 }) => ({
        topic,
        numPartitions,
        replicationFactor,
        configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
      })),
    });
    if (isCreated) log.info({ topics: names }, "kafka topics created");
    // All exist. Another instance has just created them, or they are hidden from this user and this request
    // is denied.
    else for (const { error } of (await requests.fetchMetadata(names)).topics) failOnError(error);
  } catch (error) {
    const right = `Describe on ${names.map(quoteTopic).join(", ")}, and Create where it does not exist`;
    throw toKafkaError(error, { TOPIC_AUTHORIZATION_FAILED: right });
  }
}
