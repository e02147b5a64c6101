import kafkajs, { type Admin } from "kafkajs";

import type { KafkaConfig } from "../../kafka-config.ts";
import { getErrorMessage } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { findDenial, quoteTopic, toKafkaError } from "../errors.ts";
import { errorCodes } from "../protocol/error-codes.ts";
import type { Metadata, PartitionMetadata } from "../protocol/metadata.ts";
import { failOnError } from "../protocol/request.ts";
import type { KafkaRequests } from "../requests.ts";

/** The clients by which the service looks up, creates and checks topics. */
export interface AdminClients {
  readonly admin: Admin;
  readonly requests: Pick<KafkaRequests, "fetchMetadata">;
}

type TopicSettings = Readonly<Record<string, string>>;

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
interface OwnTopic {
  readonly topic: string;
  readonly settings: TopicSettings;
  /** 1 when absent; -1 for the broker's default. */
  readonly numPartitions?: number;
  /** Whether an administrator may limit how long its records are kept. */
  readonly mayExpire?: boolean;
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
          ...(router.unmatchedTopic === undefined
            ? []
            : [{ topic: router.unmatchedTopic, settings: {}, numPartitions: -1 }]),
        ]),
  ];
}

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
  await checkSettings(clients.admin, topics, log);
  warnAboutReplicas(await clients.requests.fetchMetadata(names), log);
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
      topics: topics.map(({ topic, settings, numPartitions = 1 }) => ({
        topic,
        numPartitions,
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

/** Logs warnings only, so DescribeConfigs is an optional right. */
async function checkSettings(admin: Admin, topics: readonly OwnTopic[], log: Logger): Promise<void> {
  for (const { topic, settings, mayExpire } of topics) {
    try {
      const names = mayExpire === true ? ["cleanup.policy"] : Object.keys(settings);
      const actual = await readTopicSettings(admin, topic, names);
      const lossy = findLossySettings(settings, actual);
      if (Object.keys(lossy).length === 0) continue;
      if (settings === announcementSettings)
        log.warn(
          { topic, ...lossy },
          "announcements topic not compacted: Kafka deletes old definitions, so an empty database cannot be refilled",
        );
      else log.warn({ topic, ...lossy }, "dead-letter topic does not keep all records");
    } catch (error) {
      if (findDenial(error) === undefined) throw error;
      log.warn(
        { topic, reason: getErrorMessage(error) },
        "topic settings not checked: Kafka denies DescribeConfigs",
      );
    }
  }
}

export async function readTopicSettings(
  admin: Admin,
  topic: string,
  configNames: string[],
): Promise<TopicSettings> {
  if (configNames.length === 0) return {};
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames }],
  });
  const entries = resources.flatMap(({ configEntries }) => configEntries);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}

/** The settings by which a topic loses records. `delete.retention.ms` is not checked here. */
function findLossySettings(wanted: TopicSettings, actual: TopicSettings): TopicSettings {
  const policy = actual["cleanup.policy"] ?? "";
  const lossy = Object.entries(actual).filter(([name, value]) => {
    if (name === "cleanup.policy")
      return wanted[name] === "compact" ? !policy.includes("compact") : policy !== "delete";
    return name.startsWith("retention.") && value !== wanted[name];
  });
  return Object.fromEntries(lossy);
}

function warnAboutReplicas({ brokers, topics }: Metadata, log: Logger): void {
  for (const { name, partitions } of topics) {
    if (hasSingleReplica(partitions, brokers.length))
      log.warn({ topic: name, brokers: brokers.length }, "topic has partitions with a single replica");
  }
}

/** Whether a partition has one replica although there are brokers for more. */
export const hasSingleReplica = (
  partitions: readonly Pick<PartitionMetadata, "replicas">[],
  brokers: number,
): boolean => brokers > 1 && partitions.some(({ replicas }) => replicas.length === 1);
