import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Admin, Kafka } from "kafkajs";

import type { TopicBody } from "../../../schemas/topic.ts";
import { makeTopics } from "../../support/kafka-topics.ts";
import { connectKafka, logEnds } from "./log.ts";
import type { Patience } from "./patience.ts";
import { watchPositions, type Positions } from "./positions.ts";
import { startChaosBroker, startChaosStore, type Server } from "./servers.ts";
import { watchSysIds } from "./sys-ids.ts";

/** What a run happens on. */
export interface Stage {
  readonly broker: Server;
  readonly store: Server;
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly positions: Positions;
  readonly sysIds: ReturnType<typeof watchSysIds>;
  readonly names: typeof names;
  readonly administrator: typeof administrator;
  /** The service's settings. */
  readonly settings: Readonly<Record<string, string>>;
}

const names = { group: "chaos", topic: "announcements", deadLetterTopic: "dead-letters" } as const;
const administrator = { user: "chaos", password: "correct horse battery staple" } as const;

/** Clocks may be as wrong as they like. */
const anyTime = "9223372036854775807";

/** Starts a broker and a store in the folder, and makes the announcements topic. Everything ends with `started`. */
export async function setStage(
  folder: string,
  partitions: number,
  started: AsyncDisposableStack,
): Promise<Stage> {
  mkdirSync(folder, { recursive: true });
  const broker = await startChaosBroker(folder);
  started.defer(() => broker.remove());
  const store = await startChaosStore(folder);
  started.defer(() => store.remove());
  const uri = new URL(store.address);
  uri.pathname = "/chaos";

  const kafka = connectKafka(broker.address);
  const admin = kafka.admin();
  await admin.connect();
  started.defer(() => admin.disconnect());
  await makeTopics(admin, {
    topic: names.topic,
    numPartitions: partitions,
    // Nothing of it may go before the oracle has read it, and records without a key belong to it.
    configEntries: [
      { name: "cleanup.policy", value: "delete" },
      { name: "retention.ms", value: "-1" },
      { name: "message.timestamp.before.max.ms", value: anyTime },
      { name: "message.timestamp.after.max.ms", value: anyTime },
    ],
  });
  const positions = watchPositions(uri.href, names.group);
  started.defer(() => positions.close());

  return {
    broker,
    store,
    kafka,
    admin,
    positions,
    sysIds: watchSysIds(positions.db),
    names,
    administrator,
    settings: {
      MONGODB_URI: uri.href,
      KAFKA_BROKERS: broker.address,
      KAFKA_GROUP_ID: names.group,
      KAFKA_ANNOUNCEMENTS_TOPIC: names.topic,
      KAFKA_DEAD_LETTER_TOPIC: names.deadLetterTopic,
      BOOTSTRAP_USER: administrator.user,
      BOOTSTRAP_PASSWORD: administrator.password,
    },
  };
}

/** Where the logs of a run's instances and its difference to the oracle are kept. */
export const logsIn = (folder: string): string => {
  const logs = join(folder, "logs");
  mkdirSync(logs, { recursive: true });
  return logs;
};

/** Creates a topic over HTTP, as soon as the service takes it. */
export async function createByHand(
  stage: Stage,
  patience: Patience,
  { url, definition }: { readonly url: string; readonly definition: TopicBody },
): Promise<void> {
  const { user, password } = stage.administrator;
  await patience.until("a topic is created over HTTP", async () => {
    const { status } = await fetch(`${url}/api/svc_api_notif_mgmt/topic`, {
      method: "POST",
      headers: {
        Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify(definition),
    });
    if (status >= 400 && status < 500 && status !== 401)
      patience.fail(new Error(`a topic created over HTTP: ${status}`));
    return status === 201;
  });
}

/** The client ids of the group's members once it is settled; undefined while it changes. */
export async function membersOf({ admin, names }: Stage): Promise<string[] | undefined> {
  const { groups } = await admin.describeGroups([names.group]);
  const [group] = groups;
  return group?.state === "Stable" ? group.members.map(({ clientId }) => clientId) : undefined;
}

/** A question whether every partition has gone on since now, or has nothing left to go on with. */
export function goneOn({ admin, positions, names }: Stage, partitions: number): () => Promise<boolean> {
  const before = Array.from({ length: partitions }, (_, partition) => positions.of(partition));
  return async () => {
    await positions.look();
    const ends = await logEnds(admin, names.topic);
    return before.every((offset, partition) => {
      const now = positions.of(partition);
      return now > offset || now >= (ends.get(partition) ?? 0);
    });
  };
}

/** How far the service has come, for people. */
export const standingOf = ({ positions }: Stage, partitions: number): string =>
  `The positions: ${Array.from({ length: partitions }, (_, partition) => `${partition} at ${positions.of(partition)}`).join(", ")}`;
