import { crc32 } from "node:zlib";

import type { KafkaMessage, RecordBatchEntry } from "kafkajs";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { LogRecord, RecordHeader, RecordHeaders, SkippedBatch } from "../interface/records.ts";
import {
  findBatchEnd,
  hasValidChecksum,
  headerBytes,
  magic,
  magicOffset,
  readBatchHeader,
  type BatchHeader,
} from "./batch-header.ts";
import { BatchTooLargeError, codecs } from "./codecs.ts";
import { toHeaderList } from "./headers.ts";
import { ByteReader } from "./varint.ts";

/**
 * A record as kafkajs decodes it (protocol/recordBatch/record/v0/decoder.js), except for the headers, which
 * it passes on unread.
 */
interface DecodedMessage extends Omit<RecordBatchEntry, "headers"> {
  readonly headers: RecordHeaders;
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
}

/** The part of a batch's header that kafkajs reads after decoding. */
type BatchContext = Pick<BatchHeader, "producerId" | "inTransaction">;

interface Batch extends BatchHeader {
  /** Compressed by `codec`. */
  readonly records: Buffer;
}

/**
 * The approximate memory that a decoded record, and a header, takes in addition to its bytes. Without it,
 * empty ones would count as free.
 */
const recordOverheadBytes = 256;
const headerOverheadBytes = 128;

/** A version and a type (Kafka's documentation, "Control Batches"). */
const markerKeyBytes = 4;

const skipped = new WeakMap<object, SkippedBatch>();

/** The skipped batch that this message represents; undefined for an ordinary message. */
export const findSkippedBatch = (message: object): SkippedBatch | undefined => skipped.get(message);

export function toLogRecord(message: KafkaMessage): LogRecord {
  const { offset, timestamp, key, value, headers } = message;
  const record = { offset: Number(offset), timestamp, key, value, headers: toHeaderList(headers) };
  const skippedBatch = findSkippedBatch(message);
  return skippedBatch === undefined ? record : { ...record, skippedBatch };
}

/**
 * Decodes the record batches of one partition in a fetch response; the last one may be truncated. Throws a
 * RangeError if a batch has an impossible length or offset, so that it is unknown where it ends, for an
 * unreadable marker, without which it is unknown whether a transaction was aborted, and when a batch is found
 * damaged for the first time: it may be whole when it is fetched again.
 *
 * The result takes at most `maxBytes` of memory, and no batch keeps those after it from being read. Batches
 * that do not fit are left to the next fetch. A batch that alone is too large, or that cannot be decoded,
 * becomes one message without key and value at its last offset (`findSkippedBatch`), so that reading
 * continues after it and the skipped offsets are known.
 */
export async function decodeBatches(bytes: Buffer, maxBytes: number): Promise<DecodedMessage[]> {
  const messages: DecodedMessage[] = [];
  let left = maxBytes;
  let nextOffset = 0n;
  for (let at = 0; left > 0;) {
    // A message of an older format begins the next fetch.
    const end = bytes[at + magicOffset] === magic ? findBatchEnd(bytes, at) : undefined;
    if (end === undefined) break;
    const batchBytes = bytes.subarray(at, end);
    const batch = readBatch(batchBytes);
    if (batch.firstOffset < nextOffset || batch.lastOffset < batch.firstOffset)
      throw new RangeError("the offsets of batches of records do not ascend");
    nextOffset = batch.lastOffset + 1n;
    const isDamaged = !hasValidChecksum(batchBytes);
    if (isDamaged && isNewDamage(batchBytes)) throw new RangeError(wrongChecksum);
    const decoded = messages.length;
    try {
      if (isDamaged) throw new Error(wrongChecksum);
      left = await decodeBatch(batch, left, messages);
      if (messages.at(-1)?.offset !== String(batch.lastOffset)) messages.push(markEnd(batch));
    } catch (error) {
      messages.length = decoded;
      const isTooLarge = error instanceof BatchTooLargeError;
      if (batch.isControl && !isTooLarge)
        throw new RangeError(`a marker cannot be decoded: ${getErrorMessage(error)}`);
      if (!isTooLarge || left === maxBytes) messages.push(skip(batch, isTooLarge ? maxBytes : error));
      // The failed attempt may have taken as long as decoding a whole fetch.
      break;
    }
    at = end;
  }
  return messages;
}

const wrongChecksum = "a batch of records has a wrong checksum";
/** The damaged batches that were fetched before, by a digest of their bytes. */
const knownDamages = new Set<number>();
const maxKnownDamages = 10_000;

/** Whether these bytes are fetched for the first time. What was damaged on its way is whole the next time. */
function isNewDamage(batch: Buffer): boolean {
  const digest = crc32(batch);
  if (knownDamages.has(digest)) return false;
  if (knownDamages.size >= maxKnownDamages) knownDamages.clear();
  knownDamages.add(digest);
  return true;
}

/**
 * Returns how much of `maxBytes` is left. Throws BatchTooLargeError, and other errors for bytes that are not
 * a batch.
 */
async function decodeBatch(batch: Batch, maxBytes: number, into: DecodedMessage[]): Promise<number> {
  if (batch.count < 0) throw new RangeError("a batch has a negative number of records");
  const left = maxBytes - batch.count * recordOverheadBytes;
  const records = await decompress(batch, left);
  return decodeRecords(batch, records, left - records.length, into);
}

const readBatch = (bytes: Buffer): Batch => ({
  ...readBatchHeader(bytes),
  records: bytes.subarray(headerBytes),
});

/** Throws BatchTooLargeError. */
async function decompress({ codec: type, records }: Batch, maxBytes: number): Promise<Buffer> {
  if (maxBytes < 0) throw new BatchTooLargeError(maxBytes);
  // Compaction leaves empty batches that have a header only.
  if (records.length === 0) return records;
  if (type === 0) {
    if (records.length > maxBytes) throw new BatchTooLargeError(maxBytes);
    return records;
  }
  const codec = codecs.get(type);
  if (codec === undefined) throw new Error(`a batch of records has an unknown codec: ${type}`);
  return codec.decompress(records, maxBytes);
}

/** @param cause - The limit that the batch exceeds, or why it cannot be decoded. */
function skip(batch: Batch, cause: unknown): DecodedMessage {
  const message = createLastMessage(batch);
  skipped.set(message, {
    firstOffset: Number(batch.firstOffset),
    lastOffset: Number(batch.lastOffset),
    ...(typeof cause === "number"
      ? { code: "TOO_LARGE", reason: `has more than ${cause} bytes when it is decompressed` }
      : { code: "UNDECODABLE", reason: `cannot be decoded: ${getErrorMessage(cause)}` }),
  });
  return message;
}

/**
 * An undelivered message at the end of a batch whose last records were removed by compaction. kafkajs
 * continues after the last message, so it would fetch an empty batch at the end of a segment forever.
 */
const markEnd = (batch: Batch): DecodedMessage => ({ ...createLastMessage(batch), isControlRecord: true });

/** A message without contents at the last offset of a batch. */
const createLastMessage = (batch: Batch): DecodedMessage =>
  toMessage(batch, {
    offset: String(batch.lastOffset),
    timestamp: String(batch.maxTimestamp),
    key: null,
    value: null,
    headers: [],
  });

const toMessage = (
  batch: Batch,
  {
    offset,
    timestamp,
    key,
    value,
    headers,
  }: Omit<DecodedMessage, "attributes" | "isControlRecord" | "batchContext">,
): DecodedMessage => ({
  offset,
  timestamp,
  key,
  value,
  headers,
  attributes: 0,
  isControlRecord: batch.isControl,
  batchContext: batch,
});

/** Returns how much of `maxBytes` the headers leave. Throws BatchTooLargeError and RangeError. */
function decodeRecords(batch: Batch, records: Buffer, maxBytes: number, into: DecodedMessage[]): number {
  const reader = new ByteReader(records, "a record");
  const toOffset = createAdder(batch.firstOffset);
  const lastDelta = Number(batch.lastOffset - batch.firstOffset);
  let minDelta = 0;
  const toTimestamp = createAdder(batch.firstTimestamp);
  const maxTimestamp = String(batch.maxTimestamp);
  let left = maxBytes;
  for (let index = 0; index < batch.count; index += 1) {
    const end = reader.readVarint() + reader.at;
    reader.skip(1);
    const timestampDelta = reader.readVarlong();
    const offsetDelta = reader.readVarint();
    if (offsetDelta < minDelta || offsetDelta > lastDelta)
      throw new RangeError("a record has an offset outside of its batch");
    minDelta = offsetDelta + 1;
    const key = readField(reader);
    const value = readField(reader);
    const headerCount = reader.readVarint();
    if (headerCount < 0) throw new RangeError("a record has a negative number of headers");
    left -= headerCount * headerOverheadBytes;
    if (left < 0) throw new BatchTooLargeError(maxBytes);
    const headers = headerCount === 0 ? noHeaders : readHeaders(reader, headerCount);
    if (reader.at !== end) throw new RangeError("a record does not have its stated length");
    const timestamp = batch.hasLogAppendTime ? maxTimestamp : toTimestamp(timestampDelta);
    if (batch.isControl && (key === null || key.length < markerKeyBytes))
      throw new RangeError("a control record has no type");
    into.push(toMessage(batch, { offset: toOffset(offsetDelta), timestamp, key, value, headers }));
  }
  // Otherwise the stated number of records is too small, and the others would be lost.
  if (reader.at !== records.length) throw new RangeError("a batch has more bytes than its records");
  return left;
}

/**
 * Adds to a 64-bit number, as Java does, and returns the digits. Offsets and times are nearly always safe
 * integers, which are faster.
 */
function createAdder(base: bigint): (delta: number | bigint) => string {
  const safeBase = Number(base);
  return (delta) => {
    const sum = typeof delta === "number" ? safeBase + delta : NaN;
    return Number.isSafeInteger(sum) && Number.isSafeInteger(safeBase)
      ? String(sum)
      : String(BigInt.asIntN(64, base + BigInt(delta)));
  };
}

/** One list for all records without headers. */
const noHeaders: RecordHeaders = [];

function readHeaders(reader: ByteReader, count: number): RecordHeaders {
  const headers: RecordHeader[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = readField(reader)?.toString("utf8") ?? "";
    headers.push([name, readField(reader)]);
  }
  return headers;
}

/** Reads a nullable byte string, which follows its length. */
function readField(reader: ByteReader): Buffer | null {
  const length = reader.readVarint();
  return length < 0 ? null : reader.readBytes(length);
}
