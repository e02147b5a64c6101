import type { Admin, ITopicConfig } from "kafkajs";

import { until } from "./poll.ts";

/**
 * Creates Kafka topics and waits until each of their partitions has a leader. The wait of kafkajs fails if a
 * broker does not yet know a topic that its controller has created.
 */
export async function createKafkaTopics(admin: Admin, ...topics: ITopicConfig[]): Promise<void> {
  // A deleted topic of the same name may still exist for a moment.
  await until("the topics are created", () => admin.createTopics({ waitForLeaders: false, topics }));
  const names = topics.map(({ topic }) => topic);
  await until("their partitions have leaders", async () => {
    const metadata = await admin.fetchTopicMetadata({ topics: names });
    const partitions = metadata.topics.flatMap((one) => one.partitions);
    return partitions.length >= topics.length && partitions.every(({ leader }) => leader >= 0);
  });
}
