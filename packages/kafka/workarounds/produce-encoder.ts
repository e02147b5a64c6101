/**
 * Fault of kafkajs 2.2.4, protocol/requests/produce/v3/request.js:50 and protocol/recordBatch/v0/index.js:72:
 * its encoder creates a buffer for every number and every header, computes times with BigInt, and checksums
 * byte by byte, which took a third of the router's time.
 * The test in test/workarounds/produce-encoder.test.ts fails when kafkajs no longer needs this.
 */

import type { Message } from "kafkajs";

import { invariant } from "@topicsync/lib/invariant";
import { measureBatch, writeBatch, type BatchProducer } from "../record-format/batch-writer.ts";
import { patchFunction } from "./patch.ts";

/** What kafkajs sends in a Produce request of version 3 or later. */
export interface ProduceOptions {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  readonly producerId?: { readonly toString: () => string };
  readonly producerEpoch?: number;
  readonly compression?: number;
  readonly topicData: readonly TopicData[];
}

interface TopicData {
  readonly topic: string;
  readonly partitions: readonly PartitionData[];
}

interface PartitionData {
  readonly partition: number;
  readonly firstSequence?: number;
  readonly messages: readonly Message[];
}

/** The parts of kafkajs' encoder that its caller uses. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

interface Request {
  readonly encode: () => Promise<Encoded>;
}

interface Exchange {
  readonly request: Request;
  readonly response: unknown;
}

/** kafkajs' module of Produce requests. */
export interface ProduceProtocol {
  protocol: (chosen: { readonly version: number }) => (options: ProduceOptions) => Exchange;
}

const firstVersion = 3;

/** Makes kafkajs encode a Produce request into one buffer, in the whole process, unless it is compressed. */
export function encodeRequestsAtOnce(): void {
  patchFunction<ProduceProtocol, "protocol">(
    "protocol/requests/produce/index.js",
    "protocol",
    (protocol) => (chosen) => {
      const create = protocol(chosen);
      if (chosen.version < firstVersion) return create;
      return (options) => {
        const { request, response } = create(options);
        const isCompressed = (options.compression ?? 0) !== 0;
        const encode = () => Promise.resolve(toEncoded(options));
        return { request: isCompressed ? request : { ...request, encode }, response };
      };
    },
  );
}

function toEncoded(options: ProduceOptions): Encoded {
  const buffer = encodeProduceRequest(options);
  return { buf: buffer, buffer };
}

const measurePartition = ({ partition, firstSequence = 0, messages }: PartitionData) => ({
  partition,
  firstSequence,
  batch: measureBatch(messages),
});

/**
 * Encodes a Produce request of version 3 with uncompressed record batches of version 2 (Kafka's protocol
 * guide). Exported for tests.
 */
export function encodeProduceRequest(options: ProduceOptions): Buffer {
  const { acks, timeout, transactionalId = null, topicData } = options;
  const producer: BatchProducer = {
    id: BigInt((options.producerId ?? -1).toString()),
    epoch: options.producerEpoch ?? 0,
    isTransactional: transactionalId !== null && transactionalId !== "",
  };
  const topics = topicData.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map(measurePartition),
  }));
  let bytes = getStringBytes(transactionalId) + 2 + 4 + 4;
  for (const { topic, partitions } of topics) {
    bytes += getStringBytes(topic) + 4;
    for (const { batch } of partitions) bytes += 4 + 4 + batch.bytes;
  }

  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeString(buffer, transactionalId, 0);
  at = buffer.writeInt16BE(acks, at);
  at = buffer.writeInt32BE(timeout, at);
  at = buffer.writeInt32BE(topics.length, at);
  for (const { topic, partitions } of topics) {
    at = writeString(buffer, topic, at);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const { partition, firstSequence, batch } of partitions) {
      at = buffer.writeInt32BE(partition, at);
      at = buffer.writeInt32BE(batch.bytes, at);
      writeBatch(buffer.subarray(at, at + batch.bytes), batch, { producer, firstSequence });
      at += batch.bytes;
    }
  }
  invariant(at === bytes, "a Produce request takes exactly the bytes that were measured");
  return buffer;
}

/** The size of a string whose length has 16 bits, -1 for null. */
const getStringBytes = (text: string | null): number => 2 + (text === null ? 0 : Buffer.byteLength(text));

function writeString(buffer: Buffer, text: string | null, start: number): number {
  if (text === null) return buffer.writeInt16BE(-1, start);
  const at = buffer.writeInt16BE(Buffer.byteLength(text), start);
  return at + buffer.write(text, at);
}

/**
 * Messages that are grouped by partition. producer/groupMessagesPerPartition.js:6 groups messages with
 * `reduce`, and copies the list of the partition for each message, which takes longer the more messages there
 * are.
 * The test in test/workarounds/message-groups.test.ts fails when kafkajs no longer needs this.
 */
export const toMessages = (byPartition: Readonly<Record<number, readonly Message[]>>): Message[] =>
  Object.defineProperty([], "reduce", { value: () => byPartition });
