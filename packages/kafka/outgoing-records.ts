import type { Message } from "kafkajs";

import { toIHeaders } from "./record-format/headers.ts";
import { measureRecord, type OutgoingRecord } from "./interface/records.ts";

/**
 * kafkajs sends the messages for a partition as one record batch, which must not exceed `max.message.bytes`
 * of the topic.
 */
export const maxBytesPerBatch = 512 * 1024;

const recordOverheadBytes = 20;
const headerOverheadBytes = 2;

/**
 * Whether two records can be in the same batch. kafkajs computes the difference of their timestamps as
 * numbers, which is wrong if one of them is not a safe integer, such as one in nanoseconds.
 */
export const canShareBatch = (one: OutgoingRecord, other: OutgoingRecord): boolean =>
  one.timestamp === other.timestamp || (hasSafeTimestamp(one) && hasSafeTimestamp(other));

const hasSafeTimestamp = ({ timestamp = "" }: OutgoingRecord): boolean =>
  timestamp.length <= safeDigits || Number.isSafeInteger(Number(timestamp));

/** Numbers of at most 15 digits are safe integers. */
const safeDigits = 15;

/** Splits records into record batches of limited size. */
export function* splitIntoRecordBatches<Record extends OutgoingRecord>(
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

/** The approximate number of bytes that a record takes in a batch. */
export const estimateBytes = (record: OutgoingRecord): number =>
  recordOverheadBytes + measureRecord(record, headerOverheadBytes);

export function toMessage({ key, value, headers, timestamp, partition }: OutgoingRecord): Message {
  const message: Message = { key, value, headers: toIHeaders(headers) };
  if (timestamp !== undefined) message.timestamp = timestamp;
  if (partition !== undefined) message.partition = partition;
  return message;
}
