import { readFileSync } from "node:fs";

import type { ConsumerChannel, KafkaConfig, RouterConfig } from "@topicsync/kafka";
import { getErrorMessage } from "@topicsync/lib/errors";
import type { Settings } from "../../schemas/settings.ts";
import { toKafkaSasl, toKafkaTls, type SecretFiles } from "./kafka-security.ts";

/** Adds what is wrong to `faults`. */
export function toKafkaConfig(settings: Settings, files: SecretFiles, faults: string[]): KafkaConfig {
  const kafka: KafkaConfig = Object.freeze({
    brokers: settings.KAFKA_BROKERS,
    clientId: settings.KAFKA_CLIENT_ID,
    groupId: settings.KAFKA_GROUP_ID,
    announcementsTopic: settings.KAFKA_ANNOUNCEMENTS_TOPIC,
    deadLetterTopic: settings.KAFKA_DEAD_LETTER_TOPIC,
    pushFeedback: toPushFeedback(settings),
    router: toRouter(settings),
    maxEventBytes: settings.KAFKA_MAX_EVENT_BYTES,
    maxBatchBytes: settings.KAFKA_MAX_BATCH_BYTES,
    tls: toKafkaTls(settings, files, faults),
    sasl: toKafkaSasl(settings, files, faults),
    rack: settings.KAFKA_RACK,
  });
  faults.push(...findTopicFaults(kafka));
  return kafka;
}

/** Has its own group: otherwise a member could be assigned partitions of a topic that it does not read. */
function toPushFeedback({
  KAFKA_PUSH_FEEDBACK_TOPIC: topic,
  KAFKA_GROUP_ID: group,
}: Settings): ConsumerChannel | undefined {
  if (topic === undefined) return undefined;
  return Object.freeze({
    topic,
    deadLetterTopic: `${topic}.dead-letter`,
    groupId: `${group}.push-feedback`,
  });
}

function toRouter(settings: Settings): RouterConfig | undefined {
  const topic = settings.KAFKA_EVENTS_TOPIC;
  if (topic === undefined) return undefined;
  const newEgress = Object.freeze({
    partitions: settings.KAFKA_EGRESS_PARTITIONS,
    replication: settings.KAFKA_EGRESS_REPLICATION,
  });
  return Object.freeze({
    topic,
    deadLetterTopic: settings.KAFKA_EVENTS_DEAD_LETTER_TOPIC ?? `${topic}.dead-letter`,
    groupId: settings.KAFKA_EVENTS_GROUP_ID ?? `${settings.KAFKA_GROUP_ID}.router`,
    egressTopic: settings.KAFKA_EGRESS_TOPIC,
    newEgress,
    createEgress: settings.KAFKA_EGRESS_CREATE ? newEgress : undefined,
    maxCreatedEgress: settings.KAFKA_EGRESS_MAX_CREATED,
    maxCopies: settings.KAFKA_MAX_COPIES,
    unmatchedTopic: settings.KAFKA_UNMATCHED_TOPIC,
  });
}

/**
 * The service would read its own records, or two consumers would share a group, if two of these names were
 * the same.
 */
function findTopicFaults({
  announcementsTopic,
  deadLetterTopic,
  groupId,
  pushFeedback,
  router,
}: KafkaConfig): string[] {
  if (announcementsTopic === deadLetterTopic) {
    return [
      "KAFKA_DEAD_LETTER_TOPIC must differ from KAFKA_ANNOUNCEMENTS_TOPIC: dead letters would be consumed again",
    ];
  }
  const isReserved = /^(?:__[^{]*|\.{1,2})$/.test(router?.egressTopic ?? "");
  const unusable = [router?.egressTopic, router?.deadLetterTopic, router?.unmatchedTopic].filter(
    (name) => name !== undefined && name in Object.prototype,
  );
  return [
    ...(isReserved
      ? [`KAFKA_EGRESS_TOPIC must not be . or .., nor begin with __: Kafka reserves these names`]
      : []),
    ...unusable.map((name) => `the router cannot write to a Kafka topic named "${name ?? ""}"`),
    ...findRepeated([
      ["KAFKA_ANNOUNCEMENTS_TOPIC", announcementsTopic],
      ["KAFKA_DEAD_LETTER_TOPIC", deadLetterTopic],
      ["KAFKA_PUSH_FEEDBACK_TOPIC", pushFeedback?.topic],
      ["KAFKA_PUSH_FEEDBACK_TOPIC with the suffix .dead-letter", pushFeedback?.deadLetterTopic],
      ["KAFKA_EVENTS_TOPIC", router?.topic],
      ["KAFKA_EVENTS_DEAD_LETTER_TOPIC", router?.deadLetterTopic],
      ["KAFKA_UNMATCHED_TOPIC", router?.unmatchedTopic],
      ["KAFKA_EGRESS_TOPIC", router?.egressTopic],
    ]),
    ...findRepeated([
      ["KAFKA_GROUP_ID", groupId],
      ["KAFKA_GROUP_ID with the suffix .push-feedback", pushFeedback?.groupId],
      ["KAFKA_EVENTS_GROUP_ID", router?.groupId],
    ]),
  ];
}

/** A fault for each value that equals an earlier one. */
function findRepeated(named: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const faults: string[] = [];
  const names = new Map<string, string>();
  for (const [name, value] of named) {
    if (value === undefined) continue;
    const other = names.get(value);
    if (other === undefined) names.set(value, name);
    else faults.push(`${name} must differ from ${other}`);
  }
  return faults;
}

/** Undefined if the file cannot be read; `faults` says why. */
export function readNamedFile(name: string, file: string, faults: string[]): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    faults.push(`${name}: ${getErrorMessage(error)}`);
    return undefined;
  }
}
