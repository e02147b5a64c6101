import assert from "node:assert/strict";

import type { Kafka } from "kafkajs";

import { createCluster } from "../../src/kafka/workarounds/clusters.ts";
import { loadPrivate } from "../../src/kafka/workarounds/patch.ts";

/** The parts of kafkajs' private classes that are used here. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, readonly number[]>;
  findBroker(node: { readonly nodeId: string }): Promise<Broker>;
}

interface Broker {
  readonly connectionPool: { send(exchange: object): Promise<unknown> };
}

interface Encoder {
  writeString(text: string | null): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeBytes(bytes: Buffer): Encoder;
}

const Encoder = loadPrivate("protocol/encoder.js") as new () => Encoder;
const response = loadPrivate("protocol/requests/produce/v7/response.js");
const timeoutMs = 30_000;

/**
 * Sends these record batches to partition 0, byte for byte, each in a request of its own. Throws when the broker
 * rejects one.
 */
export async function produceBatches(kafka: Kafka, topic: string, batches: readonly Buffer[]): Promise<void> {
  const cluster = createCluster(kafka, () => undefined) as Cluster;
  await cluster.connect();
  try {
    await cluster.addTargetTopic(topic);
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [0]));
    assert.ok(nodeId !== undefined);
    const { connectionPool } = await cluster.findBroker({ nodeId });
    for (const batch of batches)
      await connectionPool.send({ request: createRequest(topic, batch), response });
  } finally {
    await cluster.disconnect();
  }
}

/** A Produce request of version 7, which may have every codec. */
const createRequest = (topic: string, batch: Buffer) => ({
  apiKey: 0,
  apiVersion: 7,
  apiName: "Produce",
  encode: () =>
    Promise.resolve(
      new Encoder()
        .writeString(null)
        .writeInt16(-1)
        .writeInt32(timeoutMs)
        .writeInt32(1)
        .writeString(topic)
        .writeInt32(1)
        .writeInt32(0)
        .writeBytes(batch),
    ),
});
