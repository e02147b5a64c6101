import type { Kafka } from "kafkajs";

import { createCluster } from "../../../src/kafka/workarounds/clusters.ts";

interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(query: { readonly nodeId: number }): Promise<Broker>;
}

interface Broker {
  deleteTopics(request: { readonly topics: readonly string[] }): Promise<unknown>;
}

/** Asks one of the brokers to delete a topic. kafkajs' admin asks any of them. */
export async function deleteAt(kafka: Kafka, nodeId: number, topic: string): Promise<void> {
  const cluster = createCluster(kafka, () => undefined) as unknown as Cluster;
  try {
    await cluster.connect();
    await cluster.refreshMetadata();
    await (await cluster.findBroker({ nodeId })).deleteTopics({ topics: [topic] });
  } finally {
    await cluster.disconnect();
  }
}
