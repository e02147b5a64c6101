import type { IHeaders, Message } from "kafkajs";

import { invariant } from "../../lib/invariant.ts";
import { now } from "../../lib/platform.ts";
import { headerBytes, writeBatchHeader } from "./batch-header.ts";
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
  let firstTimestamp = messages[0]?.timestamp ?? sentOn;
  let maxTimestamp = firstTimestamp;
  for (const { timestamp = sentOn } of messages) {
    if (Number(timestamp) < Number(firstTimestamp)) firstTimestamp = timestamp;
    if (Number(timestamp) > Number(maxTimestamp)) maxTimestamp = timestamp;
  }
  const timestampDeltas: number[] = [];
  const bodyBytes: number[] = [];
  let bytes = headerBytes;
  for (const [index, message] of messages.entries()) {
    const delta = Number(message.timestamp ?? sentOn) - Number(firstTimestamp);
    const body = getBodyBytes(message, delta, index);
    timestampDeltas.push(delta);
    bodyBytes.push(body);
    bytes += getVarintBytes(body) + body;
  }
  return { messages, bytes, firstTimestamp, maxTimestamp, timestampDeltas, bodyBytes };
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
  const at = writeVarint(buffer, getBytes(field), start);
  return at + (typeof field === "string" ? buffer.write(field, at) : field.copy(buffer, at));
}
