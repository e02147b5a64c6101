/** What brokers reject: batches that a topic does not accept, and topics that cannot be created. */
import { readHeader, readRecords } from "../wire/batches.ts";
import { codes } from "./errors.ts";
import type { BrokerNode, Topic } from "./topics.ts";

const maxNameLength = 249;
/** The settings of topics that are known here. */
const settingNames: ReadonlySet<string> = new Set([
  "cleanup.policy",
  "delete.retention.ms",
  "max.message.bytes",
  "message.timestamp.before.max.ms",
  "retention.bytes",
  "retention.ms",
  "segment.bytes",
]);

export const isValidName = (name: string): boolean =>
  /^[\w.-]+$/.test(name) && name !== "." && name !== ".." && name.length <= maxNameLength;

/** Metrics write both alike. */
const toMetricName = (name: string): string => name.replaceAll(".", "_");

/** Why a topic does not accept a batch: an error code. */
export function checkBatch(batch: Buffer, topic: Topic | undefined, now: number): number {
  if (batch.length > (topic?.maxBatchBytes ?? Infinity)) return codes.messageTooLarge;
  try {
    readHeader(batch);
  } catch {
    return codes.corruptMessage;
  }
  const { settings = new Map<string, string>() } = topic ?? {};
  if (batch.length > Number(settings.get("segment.bytes") ?? Infinity)) return codes.recordListTooLarge;
  const records = readRecords(batch);
  if (settings.get("cleanup.policy") === "compact" && records.some(({ key }) => key === null))
    return codes.invalidRecord;
  const maxAgeMs = Number(settings.get("message.timestamp.before.max.ms") ?? Infinity);
  const isOld = records.some(({ timestamp }) => now - timestamp > maxAgeMs);
  return isOld ? codes.invalidTimestamp : codes.none;
}

interface NewTopic {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: readonly { readonly name: string }[];
}

/** Why a topic cannot be created: an error code. -1 asks for the broker's default. */
export function checkNewTopic(
  { topic, partitions, replicationFactor, configs }: NewTopic,
  { metadata: { topics, live } }: BrokerNode,
): number {
  const collides = [...topics.keys()].some(
    (name) => name !== topic && toMetricName(name) === toMetricName(topic),
  );
  if (!isValidName(topic) || collides) return codes.invalidTopic;
  if (partitions === 0 || partitions < -1) return codes.invalidPartitions;
  const isPossible = replicationFactor === -1 || (replicationFactor > 0 && replicationFactor <= live.length);
  if (!isPossible) return codes.invalidReplicationFactor;
  return configs.every(({ name }) => settingNames.has(name)) ? codes.none : codes.invalidConfig;
}
