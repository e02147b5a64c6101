import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Admin, Kafka } from "kafkajs";

import type { TopicBody } from "../../../schemas/topics/topic.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { startCluster, type TwoBrokers } from "../../support/two-brokers.ts";
import { connectKafka, readLogEnds } from "./log.ts";
import type { Deadline } from "./deadline.ts";
import { watchStoredPositions, type Positions, type StoredPositions } from "./positions.ts";
import { startChaosStore, type Store } from "./servers.ts";
import { watchSysIds } from "./sys-ids.ts";

/** A Kafka topic that the service reads. */
export interface Input {
  readonly topic: string;
  readonly group: string;
  /** May grow. */
  readonly partitions: number;
  readonly positions: Positions;
}

export interface Environment {
  readonly brokers: TwoBrokers;
  readonly store: Store;
  /** Which servers they are. */
  readonly stack: string;
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly db: StoredPositions["db"];
  readonly announcements: Input;
  readonly sysIds: ReturnType<typeof watchSysIds>;
  readonly names: typeof names;
  readonly administrator: typeof administrator;
  /** The service's settings. */
  readonly settings: Readonly<Record<string, string>>;
}

const names = { group: "chaos", topic: "announcements", deadLetterTopic: "dead-letters" } as const;
const administrator = { user: "chaos", password: "correct horse battery staple" } as const;

/** The brokers accept any timestamp. */
const anyTime = "9223372036854775807";

export const acceptAnyTimestamp = [
  { name: "message.timestamp.before.max.ms", value: anyTime },
  { name: "message.timestamp.after.max.ms", value: anyTime },
];

/**
 * The oracle must be able to read every record, including those without a key, and those so old by their
 * timestamps that a broker deletes them within a minute.
 */
export const keepEveryRecord = [
  { name: "cleanup.policy", value: "delete" },
  { name: "retention.ms", value: "-1" },
];

/**
 * Starts two brokers and a store and creates the announcements topic. All of it is disposed of with
 * `started`.
 */
export async function startEnvironment(
  folder: string,
  partitions: number,
  started: AsyncDisposableStack,
): Promise<Environment> {
  mkdirSync(folder, { recursive: true });
  const brokers = await startCluster(join(folder, "brokers"), started, { isReplicated: true });
  const store = await startChaosStore(folder);
  started.defer(() => store.remove());
  const uri = new URL(store.address);
  uri.pathname = "/chaos";

  const kafka = connectKafka(brokers.addresses);
  const admin = kafka.admin();
  await admin.connect();
  started.defer(() => admin.disconnect());
  await createKafkaTopics(admin, {
    topic: names.topic,
    numPartitions: partitions,
    configEntries: [...keepEveryRecord, ...acceptAnyTimestamp],
  });
  const positions = watchStoredPositions(uri.href, names.group);
  started.defer(() => positions.close());

  return {
    brokers,
    store,
    stack: `two brokers (processes), ${store.description}`,
    kafka,
    admin,
    db: positions.db,
    announcements: { topic: names.topic, group: names.group, partitions, positions },
    sysIds: watchSysIds(positions.db),
    names,
    administrator,
    settings: {
      MONGODB_URI: uri.href,
      KAFKA_BROKERS: brokers.addresses,
      KAFKA_GROUP_ID: names.group,
      KAFKA_ANNOUNCEMENTS_TOPIC: names.topic,
      KAFKA_DEAD_LETTER_TOPIC: names.deadLetterTopic,
      BOOTSTRAP_USER: administrator.user,
      BOOTSTRAP_PASSWORD: administrator.password,
    },
  };
}

export const createLogFolder = (folder: string): string => {
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true });
  return logs;
};

/** Retries until the service accepts the topic. */
export async function createOverHttp(
  environment: Environment,
  deadline: Deadline,
  { url, definition }: { readonly url: string; readonly definition: TopicBody },
): Promise<void> {
  const { user, password } = environment.administrator;
  await deadline.waitUntil("a topic is created over HTTP", async () => {
    const { status } = await fetch(`${url}/api/svc_api_notif_mgmt/topic`, {
      method: "POST",
      headers: {
        Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify(definition),
    });
    if (status >= 400 && status < 500 && status !== 401)
      deadline.fail(new Error(`a topic created over HTTP: ${status}`));
    return status === 201;
  });
}

/** Client ids of the group's members; undefined during a rebalance. */
export async function getGroupMembers(
  { admin }: Environment,
  { group }: Input,
): Promise<string[] | undefined> {
  const { groups } = await admin.describeGroups([group]);
  const [found] = groups;
  return found?.state === "Stable" ? found.members.map(({ clientId }) => clientId) : undefined;
}

/** Returns a check whether every partition has advanced since the call, or has reached its end. */
export function watchAdvance(
  { admin }: Environment,
  { topic, partitions, positions }: Input,
): () => Promise<boolean> {
  const before = Array.from({ length: partitions }, (_, partition) => positions.get(partition));
  return async () => {
    await positions.refresh();
    const ends = await readLogEnds(admin, topic);
    return before.every((offset, partition) => {
      const now = positions.get(partition);
      return now > offset || now >= (ends.get(partition) ?? 0);
    });
  };
}

export const describePositions = ({ topic, partitions, positions }: Input): string =>
  `Positions of ${topic}: ${Array.from({ length: partitions }, (_, partition) => `${partition} at ${positions.get(partition)}`).join(", ")}`;
