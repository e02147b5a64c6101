import assert from "node:assert/strict";

import type { Kafka } from "kafkajs";

import { loadPrivate } from "@topicsync/kafka/internals";
import { withCluster } from "./kafkajs-cluster.ts";

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
 * Sends these record batches to partition 0, byte for byte, each in a request of its own. Throws when the
 * broker rejects one.
 */
export const produceBatches = (kafka: Kafka, topic: string, batches: readonly Buffer[]): Promise<void> =>
  withCluster(kafka, async (cluster) => {
    await cluster.addTargetTopic(topic);
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [0]));
    assert.ok(nodeId !== undefined);
    const { connectionPool } = await cluster.findBroker({ nodeId });
    for (const batch of batches)
      await connectionPool.send({ request: createRequest(topic, batch), response });
  });

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
