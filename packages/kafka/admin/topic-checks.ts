import kafkajs, { type Admin } from "kafkajs";

import type { Logger } from "@topicsync/lib/logger";
import { getErrorMessage } from "@topicsync/lib/errors";
import { isResponse } from "../errors.ts";
import type { Metadata, PartitionMetadata } from "../protocol/metadata.ts";

export type TopicSettings = Readonly<Record<string, string>>;

/** A Kafka topic whose records must not be lost. */
export interface CheckedTopic {
  readonly topic: string;
  /** The settings that it is created with by the service; none if others create it. */
  readonly settings: TopicSettings;
  /** Whether an administrator may limit how long its records are kept. */
  readonly mayExpire?: boolean;
}

/** With fewer, the failure of one of them can take acknowledged records with it, or stops all writes. */
const enoughBrokers = 3;
const durabilitySettings = ["min.insync.replicas", "unclean.leader.election.enable"];

/**
 * Warns about settings by which Kafka loses records that it has acknowledged, or deletes them, as far as
 * brokers tell them. Throws kafkajs' errors.
 */
export async function checkTopics(
  { admin, metadata }: { readonly admin: Admin; readonly metadata: Metadata },
  topics: readonly CheckedTopic[],
  log: Logger,
): Promise<void> {
  const { length: brokers } = metadata.brokers;
  const replicas = new Map(metadata.topics.map(({ name, partitions }) => [name, countReplicas(partitions)]));
  const untold = new Map<string, string>();
  for (const checked of topics) {
    const found = replicas.get(checked.topic);
    if (found === undefined) continue;
    const settings = await readCheckedSettings(admin, checked).catch((error: unknown) => {
      if (!isResponse(error)) throw error;
      untold.set(checked.topic, getErrorMessage(error));
      return undefined;
    });
    if (settings !== undefined) warnAboutRetention(checked, settings, log);
    const faults = findDurabilityFaults(checked.topic, { brokers, replicas: found, settings });
    if (faults.length > 0)
      log.warn(
        {
          topic: checked.topic,
          ...Object.fromEntries(faults.map(({ setting, value }) => [setting, value])),
          cure: faults.map(({ cure }) => cure),
        },
        "kafka can lose acknowledged records of this topic",
      );
  }
  if (brokers < enoughBrokers)
    log.info({ brokers }, "kafka has fewer than three brokers, so acknowledged records can be lost with one");
  if (untold.size > 0)
    log.info(
      { topics: [...untold.keys()], reasons: [...new Set(untold.values())] },
      "topic settings not checked: Kafka does not answer DescribeConfigs, an optional right",
    );
}

/** Undefined if there are none: the topic does not exist, or is hidden from this user. */
const countReplicas = (partitions: readonly Pick<PartitionMetadata, "replicas">[]): number | undefined =>
  partitions.length === 0 ? undefined : Math.min(...partitions.map(({ replicas }) => replicas.length));

const readCheckedSettings = (
  admin: Admin,
  { topic, settings, mayExpire }: CheckedTopic,
): Promise<TopicSettings> => {
  const retention = mayExpire === true ? ["cleanup.policy"] : Object.keys(settings);
  return readTopicSettings(admin, topic, [...retention, ...durabilitySettings]);
};

export async function readTopicSettings(
  admin: Admin,
  topic: string,
  configNames: string[],
): Promise<TopicSettings> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames }],
  });
  const entries = resources.flatMap(({ configEntries }) => configEntries);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}

function warnAboutRetention({ topic, settings }: CheckedTopic, actual: TopicSettings, log: Logger): void {
  const lossy = findLossySettings(settings, actual);
  if (Object.keys(lossy).length === 0) return;
  if (settings["cleanup.policy"] === "compact")
    log.warn(
      { topic, ...lossy },
      "announcements topic not compacted: Kafka deletes old definitions, so an empty database cannot be refilled",
    );
  else log.warn({ topic, ...lossy }, "dead-letter topic does not keep all records");
}

/** The settings by which a topic loses records. `delete.retention.ms` is not checked here. */
function findLossySettings(wanted: TopicSettings, actual: TopicSettings): TopicSettings {
  const policy = actual["cleanup.policy"] ?? "";
  const lossy = Object.entries(actual).filter(([name, value]) => {
    if (wanted[name] === undefined) return false;
    if (name === "cleanup.policy")
      return wanted[name] === "compact" ? !policy.includes("compact") : policy !== "delete";
    return name.startsWith("retention.") && value !== wanted[name];
  });
  return Object.fromEntries(lossy);
}

interface DurabilityFault {
  readonly setting: string;
  readonly value: string;
  /** What to do about it. */
  readonly cure: string;
}

/** What Kafka may lose although it has acknowledged it. A cluster that cannot do better has no faults. */
export function findDurabilityFaults(
  topic: string,
  {
    brokers,
    replicas,
    settings = {},
  }: {
    readonly brokers: number;
    readonly replicas: number;
    readonly settings?: TopicSettings | undefined;
  },
): DurabilityFault[] {
  const faults: DurabilityFault[] = [];
  const alter = `kafka-configs.sh --alter --topic ${topic} --add-config`;
  if (replicas < Math.min(brokers, enoughBrokers))
    faults.push({
      setting: "replicas",
      value: String(replicas),
      cure: `add replicas with kafka-reassign-partitions.sh, ${Math.min(brokers, enoughBrokers)} in all`,
    });
  const minInSync = settings["min.insync.replicas"];
  if (replicas >= enoughBrokers && minInSync !== undefined && Number(minInSync) < 2)
    faults.push({
      setting: "min.insync.replicas",
      value: minInSync,
      cure: `${alter} min.insync.replicas=2`,
    });
  if (brokers > 1 && settings["unclean.leader.election.enable"] === "true")
    faults.push({
      setting: "unclean.leader.election.enable",
      value: "true",
      cure: `${alter} unclean.leader.election.enable=false`,
    });
  return faults;
}
