import type { KafkaMessage, RecordBatchEntry } from "kafkajs";

import type { LogRecord, SkippedBatch } from "../../sync/records.ts";
import { BatchTooLargeError, codecs } from "./codecs.ts";

/** A record as kafkajs decodes it; see its protocol/recordBatch/record/v0/decoder.js. */
export interface DecodedMessage extends RecordBatchEntry {
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
}

/** What kafkajs reads of a batch's header once it is decoded. */
interface BatchContext {
  readonly producerId: string;
  readonly inTransaction: boolean;
}

/** A batch of the record format version 2 (Kafka's documentation, "Message Format"). */
interface Batch extends BatchContext {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  readonly codec: number;
  readonly isControl: boolean;
  readonly isStampedByBroker: boolean;
  readonly firstTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly count: number;
  /** Compressed, where there is a codec. */
  readonly records: Buffer;
}

const headerBytes = 61;
/** What stands before the part that the batch's length counts. */
const lengthFieldEnd = 12;
/** What a decoded record takes in memory besides its bytes, about; a batch of empty records would cost nothing otherwise. */
const recordOverheadBytes = 256;

const skipped = new WeakMap<object, SkippedBatch>();

/** The batch that the message stands for; undefined for a message that was read. */
export const findSkippedBatch = (message: object): SkippedBatch | undefined => skipped.get(message);

/** Converts a message of kafkajs to the record that the rest of the program knows. */
export function toLogRecord(message: KafkaMessage): LogRecord {
  const { offset, timestamp, key, value, headers = {} } = message;
  const record = { offset: Number(offset), timestamp, key, value, headers };
  const skippedBatch = findSkippedBatch(message);
  return skippedBatch === undefined ? record : { ...record, skippedBatch };
}

/**
 * Decodes what a broker answered for one partition: record batches one after another, the last one perhaps cut off.
 *
 * Invariant: what is decoded takes at most `maxBytes` of memory. What does not fit beside the batches before it is left to
 * the next fetch. A batch that does not fit alone becomes one message without key and value at its last offset
 * (`findSkippedBatch`): reading goes on after it, and the reader can tell which records it did not see.
 */
export async function decodeBatches(bytes: Buffer, maxBytes: number): Promise<DecodedMessage[]> {
  const messages: DecodedMessage[] = [];
  let used = 0;
  for (let at = 0; at + headerBytes <= bytes.length && used < maxBytes;) {
    const end = at + lengthFieldEnd + bytes.readInt32BE(at + 8);
    if (end > bytes.length) break;
    const batch = readBatch(bytes.subarray(at, end));
    const overhead = batch.count * recordOverheadBytes;
    try {
      const records = await decompress(batch, maxBytes - used - overhead);
      used += overhead + records.length;
      decodeRecords(batch, records, messages);
      if (messages.at(-1)?.offset !== String(batch.lastOffset)) messages.push(markEnd(batch));
    } catch (error) {
      if (!(error instanceof BatchTooLargeError)) throw error;
      if (used === 0) messages.push(skip(batch, maxBytes));
      break;
    }
    at = end;
  }
  return messages;
}

function readBatch(bytes: Buffer): Batch {
  const attributes = bytes.readInt16BE(21);
  const firstOffset = bytes.readBigInt64BE(0);
  return {
    firstOffset,
    lastOffset: firstOffset + BigInt(bytes.readInt32BE(23)),
    codec: attributes & 0x07,
    isStampedByBroker: (attributes & 0x08) !== 0,
    inTransaction: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    firstTimestamp: bytes.readBigInt64BE(27),
    maxTimestamp: bytes.readBigInt64BE(35),
    producerId: String(bytes.readBigInt64BE(43)),
    count: bytes.readInt32BE(57),
    records: bytes.subarray(headerBytes),
  };
}

/** Throws BatchTooLargeError. */
async function decompress({ codec: type, records, count }: Batch, maxBytes: number): Promise<Buffer> {
  if (maxBytes < 0) throw new BatchTooLargeError(maxBytes);
  // Compaction leaves empty batches behind, compressed ones without any bytes.
  if (count === 0) return Buffer.alloc(0);
  if (type === 0) {
    if (records.length > maxBytes) throw new BatchTooLargeError(maxBytes);
    return records;
  }
  const codec = codecs.get(type);
  if (codec === undefined) throw new Error(`a batch of records has an unknown codec: ${type}`);
  return codec.decompress(records, maxBytes);
}

function skip(batch: Batch, maxBytes: number): DecodedMessage {
  const message = toMessage(batch, {
    offset: String(batch.lastOffset),
    timestamp: String(batch.maxTimestamp),
    key: null,
    value: null,
    headers: {},
  });
  skipped.set(message, {
    firstOffset: Number(batch.firstOffset),
    lastOffset: Number(batch.lastOffset),
    maxBytes,
  });
  return message;
}

/**
 * A message that is not delivered, at the end of a batch that compaction took the last records of. kafkajs goes on behind the
 * last message; where a segment ends with an empty batch it would fetch that batch for ever.
 */
const markEnd = (batch: Batch): DecodedMessage => ({
  ...toMessage(batch, {
    offset: String(batch.lastOffset),
    timestamp: String(batch.maxTimestamp),
    key: null,
    value: null,
    headers: {},
  }),
  isControlRecord: true,
});

const toMessage = (
  batch: Batch,
  record: Omit<DecodedMessage, "attributes" | "isControlRecord" | "batchContext">,
): DecodedMessage => ({
  ...record,
  attributes: 0,
  isControlRecord: batch.isControl,
  batchContext: batch,
});

function decodeRecords(batch: Batch, records: Buffer, into: DecodedMessage[]): void {
  const reader = createReader(records);
  const { isStampedByBroker, firstTimestamp, maxTimestamp, firstOffset } = batch;
  for (let index = 0; index < batch.count; index += 1) {
    const end = reader.readVarint() + reader.at();
    reader.skip(1);
    const timestampDelta = reader.readVarlong();
    const offset = firstOffset + BigInt(reader.readVarint());
    const key = reader.readBytes();
    const value = reader.readBytes();
    const headers = readHeaders(reader);
    if (reader.at() !== end) throw new RangeError("a record is longer or shorter than it says");
    const timestamp = isStampedByBroker ? maxTimestamp : firstTimestamp + timestampDelta;
    into.push(
      toMessage(batch, { offset: String(offset), timestamp: String(timestamp), key, value, headers }),
    );
  }
}

/** A name that stands once has its value, one that stands more than once a list of them. */
function readHeaders(reader: Reader): RecordBatchEntry["headers"] {
  const count = reader.readVarint();
  if (count === 0) return {};
  const values = new Map<string, Buffer[]>();
  for (let index = 0; index < count; index += 1) {
    const name = reader.readBytes()?.toString("utf8") ?? "";
    const value = reader.readBytes() ?? Buffer.alloc(0);
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return Object.fromEntries(
    [...values].map(([name, all]) => [name, all.length === 1 && all[0] !== undefined ? all[0] : all]),
  );
}

type Reader = ReturnType<typeof createReader>;

/** Reads Kafka's variable-length numbers (zigzag, as in Protocol Buffers) and bytes. Throws a RangeError behind the end. */
function createReader(buffer: Buffer) {
  let at = 0;

  function readVarlong(): bigint {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buffer.readUInt8(at);
      at += 1;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return BigInt.asIntN(64, (result >> 1n) ^ -(result & 1n));
  }

  function readVarint(): number {
    let result = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = buffer.readUInt8(at);
      at += 1;
      result |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return (result >>> 1) ^ -(result & 1);
  }

  return {
    readVarlong,
    readVarint,
    at: () => at,
    skip(bytes: number) {
      at += bytes;
    },
    readBytes(): Buffer | null {
      const length = readVarint();
      if (length < 0) return null;
      if (at + length > buffer.length) throw new RangeError("a record is cut off");
      at += length;
      return buffer.subarray(at - length, at);
    },
  };
}
