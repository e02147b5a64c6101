import type { Admin, ITopicConfig } from "kafkajs";

import { until } from "./poll.ts";

/**
 * Creates Kafka topics and waits until each of their partitions has a leader. What kafkajs has for that ends with an error
 * when a broker has not yet heard of a topic that its controller has made.
 */
export async function createKafkaTopics(admin: Admin, ...topics: ITopicConfig[]): Promise<void> {
  // One of the same name that was deleted may still be on its way out.
  await until("the topics are created", () => admin.createTopics({ waitForLeaders: false, topics }));
  const names = topics.map(({ topic }) => topic);
  await until("their partitions have leaders", async () => {
    const metadata = await admin.fetchTopicMetadata({ topics: names });
    const partitions = metadata.topics.flatMap((one) => one.partitions);
    return partitions.length >= topics.length && partitions.every(({ leader }) => leader >= 0);
  });
}
