import type { Admin, ITopicConfig, Kafka } from "kafkajs";

import type { Broker } from "@topicsync/kafka/client";
import { createRequests, createCluster } from "@topicsync/kafka/internals";
import { until } from "./poll.ts";

interface Clients {
  readonly kafka: Kafka;
  readonly admin: Admin;
}

/**
 * Creates Kafka topics and waits until their partitions accept requests: a new partition has a leader before
 * it does.
 */
export async function createKafkaTopics(admin: Admin, ...topics: ITopicConfig[]): Promise<void> {
  // A deleted topic of the same name may still exist for a moment.
  await until("the topics are created", () => admin.createTopics({ waitForLeaders: false, topics }));
  await until("their partitions accept requests", async () => {
    for (const { topic } of topics) await admin.fetchTopicOffsets(topic);
    return true;
  });
}

/**
 * Deletes a Kafka topic and creates it again. Waits until each leader names the new topic and serves its log:
 * while a broker is busy, requests by name reach the old log for seconds after the creation was acknowledged.
 */
export async function recreateKafkaTopic({ kafka, admin }: Clients, config: ITopicConfig): Promise<void> {
  const { topic, numPartitions = 1 } = config;
  const requests = createRequests(() => createCluster(kafka, () => undefined));
  try {
    const old = (await requests.fetchMetadata([topic])).topics[0]?.topicId;
    await admin.deleteTopics({ topics: [topic] });
    await createKafkaTopics(admin, config);
    await until("the leaders serve the new topic", async () => {
      for (let partition = 0; partition < numPartitions; partition += 1) {
        // Fetched by topic id, so that it is the log of this id.
        const { topicId } = await requests.fetchLog(topic, partition);
        if (topicId === old) return false;
      }
      return true;
    });
  } finally {
    await requests.close();
  }
}

/** Deletes a Kafka topic, and waits until its leader no longer serves it. */
export async function deleteKafkaTopic({ kafka, admin }: Clients, topic: string): Promise<void> {
  const requests = createRequests(() => createCluster(kafka, () => undefined));
  try {
    await admin.deleteTopics({ topics: [topic] });
    await until("it is gone", () =>
      requests.fetchLog(topic, 0).then(
        () => false,
        () => true,
      ),
    );
  } finally {
    await requests.close();
  }
}

/**
 * Waits until every transaction in a Kafka topic has ended. Kafka completes a transaction partition by
 * partition, so its offsets may be committed before its records can be read. The ends that kafkajs'
 * fetchTopicOffsets returns do not show this: they are the last stable offsets.
 */
export async function waitForTransactions(broker: Pick<Broker, "observe">, topic: string): Promise<void> {
  await until(`no transaction is open in ${topic}`, async () => {
    const bounds = await broker.observe({ topic, groupId: "unused" }).fetchBounds("all");
    return [...bounds.values()].every(({ high, stable }) => high === stable);
  });
}

/** Deletes the records of a partition before an offset, as retention does. */
export async function deleteRecordsBefore(
  admin: Admin,
  { topic, partition, offset }: { topic: string; partition: number; offset: number },
): Promise<void> {
  // kafkajs deletes no records of a topic that is not in its metadata.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
}
