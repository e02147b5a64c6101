/**
 * Record batches of version 2 (Kafka's documentation, "Message Format"), and the markers that end
 * transactions.
 */
import { crc32c } from "@node-rs/crc32";

import { int16, int32, int64, int8, Reader, Writer } from "./format.ts";

export interface BatchRecord {
  /** How far its offset is from the first one of the batch. */
  readonly offsetDelta: number;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer])[];
}

/** What the header of a batch says of its producer. */
export interface BatchProducer {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly isTransactional: boolean;
}

export interface BatchHeader extends BatchProducer {
  readonly baseOffset: number;
  readonly lastOffsetDelta: number;
  readonly maxTimestamp: number;
  readonly count: number;
  readonly isControl: boolean;
}

const noProducer: BatchProducer = {
  producerId: -1,
  producerEpoch: -1,
  firstSequence: -1,
  isTransactional: false,
};

export const batchHeaderBytes = 61;
const lengthEnd = 12;
const leaderEpochAt = 12;
const checksumAt = 17;
const checksumEnd = 21;
const magic = 2;
const codecMask = 0x07;
const transactionalFlag = 0x10;
const controlFlag = 0x20;

interface BatchOptions extends BatchProducer {
  readonly isControl?: boolean;
  /** Compaction keeps the last offset of a batch. */
  readonly lastOffsetDelta?: number;
}

/**
 * Writes a batch as a producer sends it. A batch that compaction emptied has no records, and keeps its times.
 */
export function createBatch(
  records: readonly BatchRecord[],
  options: BatchOptions = noProducer,
  emptyTimestamp = -1,
): Buffer {
  const { lastOffsetDelta = records.at(-1)?.offsetDelta ?? 0, isControl = false } = options;
  const writer = new Writer();
  const firstTimestamp = records[0]?.timestamp ?? emptyTimestamp;
  int64.write(writer, 0);
  int32.write(writer, 0);
  int32.write(writer, 0);
  int8.write(writer, magic);
  int32.write(writer, 0);
  int16.write(writer, (options.isTransactional ? transactionalFlag : 0) | (isControl ? controlFlag : 0));
  int32.write(writer, lastOffsetDelta);
  int64.write(writer, firstTimestamp);
  int64.write(writer, Math.max(emptyTimestamp, ...records.map(({ timestamp }) => timestamp)));
  int64.write(writer, options.producerId);
  int16.write(writer, options.producerEpoch);
  int32.write(writer, options.firstSequence);
  int32.write(writer, records.length);
  for (const record of records) writeRecord(writer, record, firstTimestamp);
  const batch = writer.finish();
  batch.writeInt32BE(batch.length - lengthEnd, 8);
  batch.writeUInt32BE(crc32c(batch.subarray(checksumEnd)), checksumAt);
  return batch;
}

function writeRecord(writer: Writer, record: BatchRecord, firstTimestamp: number): void {
  const body = new Writer();
  int8.write(body, 0);
  writeVarint(body, record.timestamp - firstTimestamp);
  writeVarint(body, record.offsetDelta);
  writeField(body, record.key);
  writeField(body, record.value);
  writeVarint(body, record.headers.length);
  for (const [name, value] of record.headers) {
    writeField(body, Buffer.from(name));
    writeField(body, value);
  }
  const bytes = body.finish();
  writeVarint(writer, bytes.length);
  const at = writer.take(bytes.length);
  bytes.copy(writer.buffer, at);
}

/** The batch of the marker that ends a transaction. */
export const createMarker = (
  { producerId, producerEpoch }: Pick<BatchProducer, "producerId" | "producerEpoch">,
  { timestamp, commit }: { readonly timestamp: number; readonly commit: boolean },
): Buffer =>
  createBatch(
    [
      {
        offsetDelta: 0,
        timestamp,
        key: Buffer.from([0, 0, 0, commit ? 1 : 0]),
        value: Buffer.alloc(6),
        headers: [],
      },
    ],
    { producerId, producerEpoch, firstSequence: -1, isTransactional: true, isControl: true },
  );

/** Throws for a batch that a broker rejects as corrupt. */
export function readHeader(batch: Buffer): BatchHeader {
  const attributes = batch.readInt16BE(21);
  if (batch.readInt8(16) !== magic || (attributes & codecMask) !== 0)
    throw new Error("a batch has an unexpected format");
  if (batch.readInt32BE(8) !== batch.length - lengthEnd) throw new Error("a batch has a wrong length");
  if (batch.readUInt32BE(checksumAt) !== crc32c(batch.subarray(checksumEnd)))
    throw new Error("a batch has a wrong checksum");
  return {
    baseOffset: Number(batch.readBigInt64BE(0)),
    lastOffsetDelta: batch.readInt32BE(23),
    maxTimestamp: Number(batch.readBigInt64BE(35)),
    producerId: Number(batch.readBigInt64BE(43)),
    producerEpoch: batch.readInt16BE(51),
    firstSequence: batch.readInt32BE(53),
    count: batch.readInt32BE(57),
    isTransactional: (attributes & transactionalFlag) !== 0,
    isControl: (attributes & controlFlag) !== 0,
  };
}

/** Reads the records of a batch. */
export function readRecords(batch: Buffer): readonly BatchRecord[] {
  const firstTimestamp = Number(batch.readBigInt64BE(27));
  const count = batch.readInt32BE(57);
  const reader = new Reader(batch);
  reader.take(batchHeaderBytes);
  return Array.from({ length: count }, () => {
    const end = readVarint(reader) + reader.at;
    reader.take(1);
    const timestamp = firstTimestamp + readVarint(reader);
    const offsetDelta = readVarint(reader);
    const key = readField(reader);
    const value = readField(reader);
    const headers = Array.from({ length: readVarint(reader) }, () => {
      const name = String(readField(reader));
      return [name, readField(reader) ?? Buffer.alloc(0)] as const;
    });
    if (reader.at !== end) throw new Error("a record has a wrong length");
    return { offsetDelta, timestamp, key, value, headers };
  });
}

/** A copy of a batch at its place in a log. The checksum does not cover these fields. */
export function placeBatch(batch: Buffer, offset: number, leaderEpoch: number): Buffer {
  const placed = Buffer.from(batch);
  placed.writeBigInt64BE(BigInt(offset), 0);
  placed.writeInt32BE(leaderEpoch, leaderEpochAt);
  return placed;
}

/** Zigzag, as in Protocol Buffers. */
function writeVarint(writer: Writer, value: number): void {
  let left = value < 0 ? -2 * value - 1 : 2 * value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) {
    const at = writer.take(1);
    writer.buffer[at] = (left % 0x80) | 0x80;
  }
  const at = writer.take(1);
  writer.buffer[at] = left;
}

function readVarint(reader: Reader): number {
  let value = 0;
  for (let scale = 1; ; scale *= 0x80) {
    const byte = reader.buffer.readUInt8(reader.take(1));
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

function writeField(writer: Writer, field: Buffer | null): void {
  writeVarint(writer, field === null ? -1 : field.length);
  if (field === null) return;
  const at = writer.take(field.length);
  field.copy(writer.buffer, at);
}

function readField(reader: Reader): Buffer | null {
  const length = readVarint(reader);
  if (length < 0) return null;
  const from = reader.take(length);
  return reader.buffer.subarray(from, from + length);
}
