import { crc32c } from "@node-rs/crc32";

/** The format of record batches since Kafka 0.11 (Kafka's documentation, "Record Batch"). */
export const magic = 2;
/** The byte that names a batch's format, at the same offset in all formats. */
export const magicOffset = 16;
export const headerBytes = 61;

/**
 * The offsets of the other fields. The leader's epoch, which the broker sets, is between the length and the
 * magic byte.
 */
const offsets = {
  firstOffset: 0,
  length: 8,
  lengthEnd: 12,
  checksum: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  firstSequence: 53,
  count: 57,
} as const;

const codecBits = 0x07;
const logAppendTimeBit = 0x08;
const transactionalBit = 0x10;
const controlBit = 0x20;

export interface BatchHeader {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  readonly codec: number;
  readonly isControl: boolean;
  readonly inTransaction: boolean;
  readonly hasLogAppendTime: boolean;
  readonly firstTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly producerId: string;
  readonly count: number;
}

/** Where the batch that begins at `start` ends; undefined if the bytes end before it. */
export function findBatchEnd(bytes: Buffer, start: number): number | undefined {
  if (start + headerBytes > bytes.length) return undefined;
  const end = start + offsets.lengthEnd + bytes.readInt32BE(start + offsets.length);
  if (end < start + headerBytes) throw new RangeError("a batch of records is shorter than its header");
  return end <= bytes.length ? end : undefined;
}

export function readBatchHeader(batch: Buffer): BatchHeader {
  const attributes = batch.readInt16BE(offsets.attributes);
  const firstOffset = batch.readBigInt64BE(offsets.firstOffset);
  return {
    firstOffset,
    lastOffset: firstOffset + BigInt(batch.readInt32BE(offsets.lastOffsetDelta)),
    codec: attributes & codecBits,
    isControl: (attributes & controlBit) !== 0,
    inTransaction: (attributes & transactionalBit) !== 0,
    hasLogAppendTime: (attributes & logAppendTimeBit) !== 0,
    firstTimestamp: batch.readBigInt64BE(offsets.firstTimestamp),
    maxTimestamp: batch.readBigInt64BE(offsets.maxTimestamp),
    producerId: String(batch.readBigInt64BE(offsets.producerId)),
    count: batch.readInt32BE(offsets.count),
  };
}

/** Whether a batch is as it was written. Brokers check this when they append it, not when it is fetched. */
export const hasValidChecksum = (batch: Buffer): boolean =>
  batch.readUInt32BE(offsets.checksum) === crc32c(batch.subarray(offsets.attributes));

/** The header of a batch to be sent. The broker sets its first offset. */
interface NewBatchHeader {
  readonly isTransactional: boolean;
  readonly firstTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly count: number;
}

/**
 * Writes the header of an uncompressed batch, whose records are in the buffer already: it contains their
 * checksum.
 */
export function writeBatchHeader(batch: Buffer, header: NewBatchHeader): void {
  batch.fill(0, 0, headerBytes);
  batch.writeInt32BE(batch.length - offsets.lengthEnd, offsets.length);
  batch.writeInt8(magic, magicOffset);
  batch.writeInt16BE(header.isTransactional ? transactionalBit : 0, offsets.attributes);
  batch.writeInt32BE(header.count - 1, offsets.lastOffsetDelta);
  batch.writeBigInt64BE(header.firstTimestamp, offsets.firstTimestamp);
  batch.writeBigInt64BE(header.maxTimestamp, offsets.maxTimestamp);
  batch.writeBigInt64BE(header.producerId, offsets.producerId);
  batch.writeInt16BE(header.producerEpoch, offsets.producerEpoch);
  batch.writeInt32BE(header.firstSequence, offsets.firstSequence);
  batch.writeInt32BE(header.count, offsets.count);
  batch.writeUInt32BE(crc32c(batch.subarray(offsets.attributes)), offsets.checksum);
}
