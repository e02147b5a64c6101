import type { Message } from "kafkajs";

import { invariant } from "@topicsync/lib/invariant";
import { now } from "@topicsync/lib/platform";
import { headerBytes, writeBatchHeader } from "./batch-header.ts";
import { toHeaderList } from "./headers.ts";
import { getVarintBytes, writeVarint } from "./varint.ts";

/** The messages of one batch, and what their encoding takes. */
interface MeasuredBatch {
  readonly messages: readonly Message[];
  readonly bytes: number;
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  /** Of each record, relative to the first timestamp. */
  readonly timestampDeltas: readonly number[];
  /** Of each record, without its length. */
  readonly bodyBytes: readonly number[];
}

/** What a batch says of its producer. */
export interface BatchProducer {
  readonly id: bigint;
  readonly epoch: number;
  readonly isTransactional: boolean;
}

/** Measures a batch, so that one buffer can be allocated for the whole request. */
export function measureBatch(messages: readonly Message[]): MeasuredBatch {
  const sentOn = String(now());
  const times = messages.map(({ timestamp = sentOn }) => Number(timestamp));
  let [first, last] = [0, 0];
  for (let at = 1; at < times.length; at += 1) {
    if ((times[at] ?? 0) < (times[first] ?? 0)) first = at;
    if ((times[at] ?? 0) > (times[last] ?? 0)) last = at;
  }
  const firstTime = times[first] ?? 0;
  const bodyBytes: number[] = [];
  let bytes = headerBytes;
  for (const [index, message] of messages.entries()) {
    const body = getBodyBytes(message, (times[index] ?? 0) - firstTime, index);
    bodyBytes.push(body);
    bytes += getVarintBytes(body) + body;
  }
  return {
    messages,
    bytes,
    firstTimestamp: messages[first]?.timestamp ?? sentOn,
    maxTimestamp: messages[last]?.timestamp ?? sentOn,
    timestampDeltas: times.map((time) => time - firstTime),
    bodyBytes,
  };
}

/** Writes an uncompressed batch into a buffer of its size. */
export function writeBatch(
  buffer: Buffer,
  batch: MeasuredBatch,
  { producer, firstSequence }: { readonly producer: BatchProducer; readonly firstSequence: number },
): void {
  const { messages, timestampDeltas, bodyBytes } = batch;
  let at = headerBytes;
  for (const [index, message] of messages.entries()) {
    at = writeVarint(buffer, bodyBytes[index] ?? 0, at);
    at = writeBody(buffer, message, { timestampDelta: timestampDeltas[index] ?? 0, offsetDelta: index }, at);
  }
  invariant(at === buffer.length, "a batch takes exactly the bytes that were measured");
  writeBatchHeader(buffer, {
    isTransactional: producer.isTransactional,
    firstTimestamp: BigInt(batch.firstTimestamp),
    maxTimestamp: BigInt(batch.maxTimestamp),
    producerId: producer.id,
    producerEpoch: producer.epoch,
    firstSequence,
    count: messages.length,
  });
}

const attributesBytes = 1;

function getBodyBytes(message: Message, timestampDelta: number, offsetDelta: number): number {
  const { key, value } = message;
  const headers = toHeaderList(message.headers);
  let bytes =
    attributesBytes +
    getVarintBytes(timestampDelta) +
    getVarintBytes(offsetDelta) +
    getFieldBytes(key) +
    getFieldBytes(value) +
    getVarintBytes(headers.length);
  for (const [name, text] of headers) bytes += getFieldBytes(name) + getFieldBytes(text);
  return bytes;
}

function writeBody(
  buffer: Buffer,
  { key, value, headers: given }: Message,
  { timestampDelta, offsetDelta }: { readonly timestampDelta: number; readonly offsetDelta: number },
  start: number,
): number {
  const headers = toHeaderList(given);
  let at = buffer.writeInt8(0, start);
  at = writeVarint(buffer, timestampDelta, at);
  at = writeVarint(buffer, offsetDelta, at);
  at = writeField(buffer, key, at);
  at = writeField(buffer, value, at);
  at = writeVarint(buffer, headers.length, at);
  for (const [name, text] of headers) at = writeField(buffer, text, writeField(buffer, name, at));
  return at;
}

type Field = Buffer | string | null | undefined;

const getBytes = (field: Buffer | string): number =>
  typeof field === "string" ? Buffer.byteLength(field) : field.length;

function getFieldBytes(field: Field): number {
  if (field === null || field === undefined) return getVarintBytes(-1);
  const bytes = getBytes(field);
  return getVarintBytes(bytes) + bytes;
}

function writeField(buffer: Buffer, field: Field, start: number): number {
  if (field === null || field === undefined) return writeVarint(buffer, -1, start);
  if (typeof field === "string") return writeText(buffer, field, start);
  const at = writeVarint(buffer, field.length, start);
  buffer.set(field, at);
  return at + field.length;
}

/** The largest length that takes one byte. */
const maxShortBytes = 63;

/** Most texts are short: they are written first, and not measured again. */
function writeText(buffer: Buffer, text: string, start: number): number {
  const bytes = text.length > maxShortBytes ? Infinity : buffer.write(text, start + 1);
  if (bytes <= maxShortBytes) return writeVarint(buffer, bytes, start) + bytes;
  const at = writeVarint(buffer, Buffer.byteLength(text), start);
  return at + buffer.write(text, at);
}
