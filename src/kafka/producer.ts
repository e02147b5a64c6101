import kafkajs, { type Message, type RecordMetadata } from "kafkajs";

import { UnavailableError } from "../lib/errors.ts";
import { measureRecord, type OutgoingRecord, type RecordProducer, type SendResult } from "../sync/records.ts";
import { findSendRejection, quoteTopic, toKafkaError } from "./errors.ts";
import type { KafkaClient } from "./sockets.ts";

/** kafkajs sends the messages of one call as one record batch, which must not exceed the topic's `max.message.bytes`. */
const maxBytesPerBatch = 512 * 1024;

const recordOverheadBytes = 20;
const headerOverheadBytes = 2;

/** Creates a producer for one topic. Connects with the first record. */
export function createProducer({ kafka, dropConnection }: KafkaClient, topic: string): RecordProducer {
  const choosePartition = kafkajs.Partitioners.DefaultPartitioner();
  // kafkajs returns one offset per partition, but not which message went where. A retry keeps the first choice.
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
      for (const batch of splitIntoBatches(records, maxBytesPerBatch)) {
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
 * Whether two records can be in the same batch. kafkajs computes the difference of their timestamps as numbers, which is
 * wrong when one of them is no safe integer, such as one in nanoseconds.
 */
export const canShareBatch = (one: OutgoingRecord, other: OutgoingRecord): boolean =>
  one.timestamp === other.timestamp || (hasSafeTimestamp(one) && hasSafeTimestamp(other));

const hasSafeTimestamp = ({ timestamp }: OutgoingRecord): boolean =>
  Number.isSafeInteger(Number(timestamp ?? 0));

/** Splits records into batches of limited size. */
export function* splitIntoBatches<Record extends OutgoingRecord>(
  records: readonly Record[],
  maxBytes: number,
): Generator<Record[]> {
  let batch: Record[] = [];
  let bytes = 0;
  for (const record of records) {
    const recordBytes = estimateBytes(record);
    const [first] = batch;
    if (first !== undefined && (bytes + recordBytes > maxBytes || !canShareBatch(first, record))) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += recordBytes;
  }
  if (batch.length > 0) yield batch;
}

/** About what a record takes in a batch. */
export const estimateBytes = (record: OutgoingRecord): number =>
  recordOverheadBytes + measureRecord(record, headerOverheadBytes);

export function toMessage({ key, value, headers, timestamp, partition }: OutgoingRecord): Message {
  const message: Message = { key, value, headers };
  if (timestamp !== undefined) message.timestamp = timestamp;
  if (partition !== undefined) message.partition = partition;
  return message;
}

/** Derives the offset of each message from the first offset per partition, which the broker acknowledges. */
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
