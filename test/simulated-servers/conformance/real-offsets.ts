/**
 * How the offsets of a group are changed by others: with Kafka's command line tool, or because they expire.
 */
import type { Kafka } from "kafkajs";

import { prepareKafkaJava, runClass } from "@topicsync/embedded";
import { loadPrivate } from "@topicsync/kafka/internals";
import { withCluster } from "../../support/kafkajs-cluster.ts";
import { toolsFolder } from "../../support/local.ts";

type Encode = (body: object) => object;

/** Runs kafka-consumer-groups.sh. */
async function runTool(brokers: string, args: readonly string[]): Promise<void> {
  const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
  const mainClass = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
  await runClass(java, { mainClass, args: ["--bootstrap-server", brokers, ...args] });
}

export const setOffset = (brokers: string, groupId: string, topic: string, offset: number): Promise<void> =>
  runTool(brokers, [
    ...["--group", groupId, "--topic", `${topic}:0`],
    ...["--reset-offsets", "--to-offset", String(offset), "--execute"],
  ]);

export const deleteOffset = (brokers: string, groupId: string, topic: string): Promise<void> =>
  runTool(brokers, ["--group", groupId, "--topic", topic, "--delete-offsets"]);

/**
 * Commits an offset of partition 0 that expires at once: version 4 of the request is the last that says when.
 */
export async function commitExpired(kafka: Kafka, groupId: string, topic: string): Promise<void> {
  const folder = "protocol/requests/offsetCommit/v4";
  const encode = loadPrivate(`${folder}/request.js`) as Encode;
  await withCluster(kafka, async (cluster) => {
    const { connectionPool } = await cluster.findGroupCoordinator({ groupId });
    const topics = [{ topic, partitions: [{ partition: 0, offset: "0", metadata: "" }] }];
    await connectionPool.send({
      request: encode({ groupId, groupGenerationId: -1, memberId: "", retentionTime: 1, topics }),
      response: loadPrivate(`${folder}/response.js`),
    });
  });
}
