import { createRequire } from "node:module";

import { crc32c } from "@node-rs/crc32";
import type { IHeaders, Message } from "kafkajs";

import { now } from "../../lib/platform.ts";

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

type CreateRequest = (options: ProduceOptions) => Request;
type Bytes = Buffer | string | null | undefined;

let isReplaced = false;

/**
 * Makes kafkajs 2.2.4 encode a Produce request into one buffer, in the whole process. Its own encoder creates a buffer for every
 * number and every header, computes times with BigInt, and checksums byte by byte, which took a third of the router's time.
 */
export function encodeRequestsAtOnce(): void {
  if (isReplaced) return;
  isReplaced = true;
  const require = createRequire(import.meta.url);
  const path = require.resolve("kafkajs/src/protocol/requests/produce/v3/request.js");
  const createRequest = require(path) as CreateRequest;
  const module = require.cache[path];
  const createFastRequest: CreateRequest = (options) => {
    const request = createRequest(options);
    const isCompressed = (options.compression ?? 0) !== 0;
    return isCompressed ? request : { ...request, encode: () => Promise.resolve(toEncoded(options)) };
  };
  // kafkajs loads the caller of this module with the first request.
  if (module !== undefined) module.exports = createFastRequest;
}

function toEncoded(options: ProduceOptions): Encoded {
  const buffer = encodeProduceRequest(options);
  return { buf: buffer, buffer };
}

/** Encodes a Produce request of version 3 with record batches of version 2 (Kafka's protocol guide). Exported for tests. */
export function encodeProduceRequest(options: ProduceOptions): Buffer {
  const { acks, timeout, transactionalId = null, topicData } = options;
  const isTransactional = transactionalId !== null && transactionalId !== "";
  const producer: ProducerState = {
    id: BigInt((options.producerId ?? -1).toString()),
    epoch: options.producerEpoch ?? 0,
    isTransactional,
  };
  const topics = topicData.map(({ topic, partitions }) => ({ topic, batches: partitions.map(measureBatch) }));
  let bytes = getStringBytes(transactionalId) + 2 + 4 + 4;
  for (const { topic, batches } of topics) {
    bytes += getStringBytes(topic) + 4;
    for (const batch of batches) bytes += 4 + 4 + batch.bytes;
  }

  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeString(buffer, transactionalId, 0);
  at = buffer.writeInt16BE(acks, at);
  at = buffer.writeInt32BE(timeout, at);
  at = buffer.writeInt32BE(topics.length, at);
  for (const { topic, batches } of topics) {
    at = writeString(buffer, topic, at);
    at = buffer.writeInt32BE(batches.length, at);
    for (const batch of batches) {
      at = buffer.writeInt32BE(batch.partition, at);
      at = buffer.writeInt32BE(batch.bytes, at);
      at = writeBatch(buffer, batch, producer, at);
    }
  }
  return buffer;
}

interface ProducerState {
  readonly id: bigint;
  readonly epoch: number;
  readonly isTransactional: boolean;
}

interface MeasuredBatch extends PartitionData {
  readonly bytes: number;
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  /** Of each record. */
  readonly timestampDeltas: readonly number[];
  /** Of each record, without its length. */
  readonly bodyBytes: readonly number[];
}

const batchHeaderBytes = 61;
/** Up to and including the length. */
const lengthEnd = 12;
const checksumAt = 17;
const checksumEnd = 21;
const magic = 2;
const transactionalAttribute = 0x10;

function measureBatch(data: PartitionData): MeasuredBatch {
  const { messages } = data;
  const sentOn = String(now());
  let firstTimestamp = messages[0]?.timestamp ?? sentOn;
  let maxTimestamp = firstTimestamp;
  for (const { timestamp = sentOn } of messages) {
    if (Number(timestamp) < Number(firstTimestamp)) firstTimestamp = timestamp;
    if (Number(timestamp) > Number(maxTimestamp)) maxTimestamp = timestamp;
  }
  const timestampDeltas: number[] = [];
  const bodyBytes: number[] = [];
  let bytes = batchHeaderBytes;
  for (const [index, message] of messages.entries()) {
    const delta = Number(message.timestamp ?? sentOn) - Number(firstTimestamp);
    const body = getBodyBytes(message, delta, index);
    timestampDeltas.push(delta);
    bodyBytes.push(body);
    bytes += getVarintBytes(body) + body;
  }
  return { ...data, bytes, firstTimestamp, maxTimestamp, timestampDeltas, bodyBytes };
}

function writeBatch(buffer: Buffer, batch: MeasuredBatch, producer: ProducerState, start: number): number {
  const { messages, timestampDeltas, bodyBytes } = batch;
  let at = buffer.writeBigInt64BE(0n, start);
  at = buffer.writeInt32BE(batch.bytes - lengthEnd, at);
  // The leader's epoch, which the broker sets.
  at = buffer.writeInt32BE(0, at);
  buffer.writeInt8(magic, at);
  at = start + checksumEnd;
  at = buffer.writeInt16BE(producer.isTransactional ? transactionalAttribute : 0, at);
  at = buffer.writeInt32BE(messages.length - 1, at);
  at = buffer.writeBigInt64BE(BigInt(batch.firstTimestamp), at);
  at = buffer.writeBigInt64BE(BigInt(batch.maxTimestamp), at);
  at = buffer.writeBigInt64BE(producer.id, at);
  at = buffer.writeInt16BE(producer.epoch, at);
  at = buffer.writeInt32BE(batch.firstSequence ?? 0, at);
  at = buffer.writeInt32BE(messages.length, at);
  for (const [index, message] of messages.entries()) {
    at = writeVarint(buffer, bodyBytes[index] ?? 0, at);
    at = writeBody(buffer, message, { timestampDelta: timestampDeltas[index] ?? 0, offsetDelta: index }, at);
  }
  buffer.writeUInt32BE(crc32c(buffer.subarray(start + checksumEnd, at)), start + checksumAt);
  return at;
}

const attributesBytes = 1;

function getBodyBytes(
  { key, value, headers = {} }: Message,
  timestampDelta: number,
  offsetDelta: number,
): number {
  let bytes =
    attributesBytes +
    getVarintBytes(timestampDelta) +
    getVarintBytes(offsetDelta) +
    getFieldBytes(key) +
    getFieldBytes(value) +
    getVarintBytes(countHeaders(headers));
  for (const name of Object.keys(headers)) {
    const given = headers[name];
    if (Array.isArray(given)) for (const one of given) bytes += getFieldBytes(name) + getFieldBytes(one);
    else bytes += getFieldBytes(name) + getFieldBytes(given);
  }
  return bytes;
}

function writeBody(
  buffer: Buffer,
  { key, value, headers = {} }: Message,
  { timestampDelta, offsetDelta }: { readonly timestampDelta: number; readonly offsetDelta: number },
  start: number,
): number {
  let at = buffer.writeInt8(0, start);
  at = writeVarint(buffer, timestampDelta, at);
  at = writeVarint(buffer, offsetDelta, at);
  at = writeField(buffer, key, at);
  at = writeField(buffer, value, at);
  at = writeVarint(buffer, countHeaders(headers), at);
  for (const name of Object.keys(headers)) {
    const given = headers[name];
    if (Array.isArray(given))
      for (const one of given) at = writeField(buffer, one, writeField(buffer, name, at));
    else at = writeField(buffer, given, writeField(buffer, name, at));
  }
  return at;
}

/** A header with several values is sent once for each. */
function countHeaders(headers: IHeaders): number {
  let count = 0;
  for (const name of Object.keys(headers)) {
    const given = headers[name];
    count += Array.isArray(given) ? given.length : 1;
  }
  return count;
}

/** As in Protocol Buffers. Times do not fit into 32 bits. */
const toZigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

function getVarintBytes(value: number): number {
  let bytes = 1;
  for (let left = toZigzag(value); left >= 0x80; left = Math.floor(left / 0x80)) bytes += 1;
  return bytes;
}

function writeVarint(buffer: Buffer, value: number, start: number): number {
  let at = start;
  let left = toZigzag(value);
  for (; left >= 0x80; left = Math.floor(left / 0x80)) {
    buffer[at] = (left % 0x80) | 0x80;
    at += 1;
  }
  buffer[at] = left;
  return at + 1;
}

const getBytes = (field: Buffer | string): number =>
  typeof field === "string" ? Buffer.byteLength(field) : field.length;

function getFieldBytes(field: Bytes): number {
  if (field === null || field === undefined) return getVarintBytes(-1);
  const bytes = getBytes(field);
  return getVarintBytes(bytes) + bytes;
}

function writeField(buffer: Buffer, field: Bytes, start: number): number {
  if (field === null || field === undefined) return writeVarint(buffer, -1, start);
  const at = writeVarint(buffer, getBytes(field), start);
  return at + (typeof field === "string" ? buffer.write(field, at) : field.copy(buffer, at));
}

/** A string with a length of 16 bits; -1 for null. */
const getStringBytes = (text: string | null): number => 2 + (text === null ? 0 : Buffer.byteLength(text));

function writeString(buffer: Buffer, text: string | null, start: number): number {
  if (text === null) return buffer.writeInt16BE(-1, start);
  const at = buffer.writeInt16BE(Buffer.byteLength(text), start);
  return at + buffer.write(text, at);
}
