import kafkajs, { type Message, type RecordMetadata } from "kafkajs";

import { UnavailableError } from "@topicsync/lib/errors";
import type { OutgoingRecord, RecordProducer, SendResult } from "./interface/records.ts";
import { findSendRejection, quoteTopic, toKafkaError } from "./errors.ts";
import { maxBytesPerBatch, splitIntoRecordBatches, toMessage } from "./outgoing-records.ts";
import type { KafkaClient } from "./sockets.ts";

/** Creates a producer for one topic. Connects with the first record. */
export function createProducer({ kafka, dropConnection }: KafkaClient, topic: string): RecordProducer {
  const choosePartition = kafkajs.Partitioners.DefaultPartitioner();
  // kafkajs returns one offset per partition, but not which message went where. A retry keeps the first
  // choice.
  const partitions = new WeakMap<Message, number>();
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: () => (args) => {
      const partition = partitions.get(args.message) ?? choosePartition(args);
      partitions.set(args.message, partition);
      return partition;
    },
  });
  producer.on(producer.events.REQUEST_TIMEOUT, dropConnection);
  const rights = { TOPIC_AUTHORIZATION_FAILED: `Write on ${quoteTopic(topic)}` };
  let connecting: Promise<void> | undefined;

  async function connect(): Promise<void> {
    connecting ??= producer.connect();
    await connecting.catch((error: unknown) => {
      connecting = undefined;
      throw toKafkaError(error, rights);
    });
  }

  /** Kafka accepts or rejects a batch as a whole. */
  async function sendBatch(batch: readonly OutgoingRecord[]): Promise<SendResult[]> {
    await connect();
    const messages = batch.map(toMessage);
    try {
      const acknowledged = await producer.send({ topic, acks: -1, messages });
      return locate(
        messages.map((message) => partitions.get(message)),
        acknowledged,
      );
    } catch (error) {
      const rejection = findSendRejection(error);
      if (rejection === undefined) throw toKafkaError(error, rights);
      return batch.map(() => ({ rejection }));
    }
  }

  return {
    async send(records) {
      const results: SendResult[] = [];
      for (const batch of splitIntoRecordBatches(records, maxBytesPerBatch)) {
        const batchResults = await sendBatch(batch);
        const isRejected = batchResults.some((result) => "rejection" in result);
        if (!isRejected || batch.length === 1) results.push(...batchResults);
        else for (const record of batch) results.push(...(await sendBatch([record])));
      }
      return results;
    },

    async close() {
      await connecting?.catch(() => undefined);
      await producer.disconnect();
    },
  };
}

/**
 * Derives the offset of each message from the first offset per partition, which the broker acknowledges.
 * Throws if a partition was not acknowledged: nothing counts as sent then.
 */
function locate(
  partitions: readonly (number | undefined)[],
  acknowledged: readonly RecordMetadata[],
): SendResult[] {
  const nextOffsets = new Map(
    acknowledged.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]),
  );
  return partitions.map((partition = -1) => {
    const offset = nextOffsets.get(partition);
    if (offset === undefined)
      throw new UnavailableError(`Kafka did not acknowledge a record for its partition ${partition}`);
    nextOffsets.set(partition, offset + 1);
    return { partition, offset };
  });
}
