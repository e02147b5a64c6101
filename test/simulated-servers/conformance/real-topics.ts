import type { Kafka } from "kafkajs";

import { withCluster } from "../../support/kafkajs-cluster.ts";

/** Asks one of the brokers to delete a topic. kafkajs' admin asks any of them. */
export const deleteAt = (kafka: Kafka, nodeId: number, topic: string): Promise<void> =>
  withCluster(kafka, async (cluster) => {
    await cluster.refreshMetadata();
    await (await cluster.findBroker({ nodeId })).deleteTopics({ topics: [topic] });
  });
