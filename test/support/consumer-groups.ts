import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import type { Kafka } from "kafkajs";

import { buildJavaArgs, prepareKafkaJava } from "../../src/embedded/kafka-java.ts";
import { toolsFolder } from "../unit/embedded/local.ts";
import { withCluster } from "./kafkajs-cluster.ts";
import { until } from "./poll.ts";

interface Committed {
  readonly groupId: string;
  readonly topic: string;
  readonly offset: number;
}

/**
 * Commits offsets in partition 0 for groups without members. Kafka refuses them while it loads the partition
 * of `__consumer_offsets`, which the first commit to a new broker creates.
 */
export const commitOffsets = (kafka: Kafka, committed: readonly Committed[]): Promise<void> =>
  withCluster(kafka, async (cluster) => {
    for (const { groupId, topic, offset } of committed) {
      await until(`group ${groupId} has committed an offset`, async () => {
        const coordinator = await cluster.findGroupCoordinator({ groupId });
        await coordinator.offsetCommit({
          ...{ groupId, groupGenerationId: -1, memberId: "" },
          topics: [{ topic, partitions: [{ partition: 0, offset: String(offset) }] }],
        });
        return true;
      });
    }
  });

/** Joins a group of the classic protocol and commits an offset, until the tests of this file end. */
export async function joinGroup(kafka: Kafka, { groupId, topic, offset }: Committed) {
  const consumer = kafka.consumer({ groupId });
  after(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topics: [topic] });
  const joined = new Promise((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, resolve);
  });
  await consumer.run({ autoCommit: false, eachBatch: () => Promise.resolve() });
  await joined;
  await consumer.commitOffsets([{ topic, partition: 0, offset: String(offset) }]);
  return consumer;
}

/** Starts a consumer of Kafka's own with the protocol of KIP-848, until the tests of this file end. */
export async function startNewProtocolConsumer(
  brokers: string,
  groupId: string,
  topic: string,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "topicsync-consumer-"));
  const file = join(folder, "consumer.properties");
  const properties = [
    "group.protocol=consumer",
    "auto.offset.reset=earliest",
    "auto.commit.interval.ms=200",
    "client.id=new-protocol",
  ];
  writeFileSync(file, properties.join("\n"));
  const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
  const args = [
    "--bootstrap-server",
    brokers,
    "--topic",
    topic,
    "--group",
    groupId,
    "--consumer.config",
    file,
  ];
  const child = spawn(
    java.command,
    [...buildJavaArgs(java, "org.apache.kafka.tools.consumer.ConsoleConsumer", ["-Xmx128m"]), ...args],
    { stdio: "ignore" },
  );
  after(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
}
