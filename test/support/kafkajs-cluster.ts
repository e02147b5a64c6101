import type { Kafka } from "kafkajs";

import { createCluster } from "@topicsync/kafka/internals";

/** The parts of kafkajs' private classes that tests use. */
interface PrivateCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, readonly number[]>;
  findBroker(query: { readonly nodeId: number | string }): Promise<PrivateBroker>;
  findGroupCoordinator(query: { readonly groupId: string }): Promise<PrivateBroker>;
}

interface PrivateBroker {
  readonly connectionPool: {
    send(exchange: { readonly request: object; readonly response: unknown }): Promise<unknown>;
  };
  offsetCommit(request: object): Promise<unknown>;
  deleteTopics(request: { readonly topics: readonly string[] }): Promise<unknown>;
}

/** Connects for requests that kafkajs offers no way to send. */
export async function withCluster<T>(
  kafka: Kafka,
  work: (cluster: PrivateCluster) => Promise<T>,
): Promise<T> {
  const cluster = createCluster(kafka, () => undefined) as PrivateCluster;
  try {
    await cluster.connect();
    return await work(cluster);
  } finally {
    await cluster.disconnect();
  }
}
