import type { Admin, ITopicConfig } from "kafkajs";

import { until } from "./poll.ts";

/** Creates Kafka topics and waits until their partitions accept requests: a new partition has a leader before it does. */
export async function createKafkaTopics(admin: Admin, ...topics: ITopicConfig[]): Promise<void> {
  // A deleted topic of the same name may still exist for a moment.
  await until("the topics are created", () => admin.createTopics({ waitForLeaders: false, topics }));
  await until("their partitions accept requests", async () => {
    for (const { topic } of topics) await admin.fetchTopicOffsets(topic);
    return true;
  });
}
