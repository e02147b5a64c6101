/**
 * The floor of `npm run bench -- router`: a plain kafkajs loop that forwards every record unread, with one
 * transaction per batch and partition.
 *
 * Usage: node bench/router/floor.ts BROKERS GROUP EVENTS_TOPIC EGRESS_TOPIC
 */
import { setTimeout as sleep } from "node:timers/promises";

import kafkajs, { type Producer, type Transaction } from "kafkajs";

import { stopIdleChecks } from "@topicsync/kafka/internals";

const [, , brokers = "", groupId = "", topic = "", egress = ""] = process.argv;
/** As the router: the broker accepts 1 MB per record batch. */
const maxBytesPerRequest = 512 * 1024;
const retryDelayMs = 3;

stopIdleChecks();
const kafka = new kafkajs.Kafka({
  brokers: brokers.split(","),
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { initialRetryTime: retryDelayMs, retries: 10 },
});
const producers = new Map<number, Promise<Producer>>();

async function createProducer(partition: number): Promise<Producer> {
  const producer = kafka.producer({
    transactionalId: `${groupId}-${partition}`,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  return producer;
}

/** The broker rejects it while it completes the last transaction. */
async function sendOffset(transaction: Transaction, partition: number, offset: number): Promise<void> {
  const topics = [{ topic, partitions: [{ partition, offset: String(offset) }] }];
  for (;;) {
    try {
      await transaction.sendOffsets({ consumerGroupId: groupId, topics });
      return;
    } catch (error) {
      if (!(error instanceof kafkajs.KafkaJSProtocolError) || error.type !== "CONCURRENT_TRANSACTIONS")
        throw error;
      await sleep(retryDelayMs);
    }
  }
}

const consumer = kafka.consumer({ groupId });
await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
await consumer.run({
  autoCommit: false,
  partitionsConsumedConcurrently: 8,
  async eachBatch({ batch }) {
    const { partition, messages } = batch;
    const producer = producers.get(partition) ?? createProducer(partition);
    producers.set(partition, producer);
    const transaction = await (await producer).transaction();
    await sendOffset(transaction, partition, Number(batch.lastOffset()) + 1);
    let first = 0;
    let bytes = 0;
    for (const [at, { key, value }] of messages.entries()) {
      const size = (key?.length ?? 0) + (value?.length ?? 0);
      if (bytes + size > maxBytesPerRequest) {
        await transaction.send({ topic: egress, messages: messages.slice(first, at) });
        first = at;
        bytes = 0;
      }
      bytes += size;
    }
    await transaction.send({ topic: egress, messages: messages.slice(first) });
    await transaction.commit();
  },
});
