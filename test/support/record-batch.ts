import { gzipSync } from "node:zlib";

import { crc32c } from "@node-rs/crc32";

/** Encodes a 64-bit number as a zigzag varint, as in Protocol Buffers. */
export function encodeVarint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

const encodeSized = (bytes: Buffer | null): Buffer =>
  bytes === null ? encodeVarint(-1) : Buffer.concat([encodeVarint(bytes.length), bytes]);

const emptyHeader = Buffer.concat([encodeSized(Buffer.from("a")), encodeSized(null)]);

export interface GivenRecord {
  readonly key?: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly (readonly [string, string | null])[];
  /** How many headers `a` without a value follow `headers`. */
  readonly furtherHeaders?: number;
  /** Milliseconds after the batch's timestamp; by default the record's index. */
  readonly delta?: bigint;
}

export interface BatchOptions {
  readonly timestamp?: number | bigint;
  readonly lastOffset?: number;
  /** The codec's number in the attributes. */
  readonly codec?: number;
  readonly compress?: (records: Buffer) => Buffer;
}

/** Creates a record batch (Kafka's documentation, "Record Batch"), compressed with gzip by default. */
export function createRecordBatch(
  firstOffset: number,
  records: readonly GivenRecord[],
  {
    timestamp = 1_700_000_000_000,
    lastOffset = firstOffset + records.length - 1,
    codec = 1,
    compress = gzipSync,
  }: BatchOptions = {},
): Buffer {
  const bodies = records.map(({ key = null, value, headers = [], furtherHeaders = 0, delta }, index) => {
    const named = headers.flatMap(([name, text]) => [
      encodeSized(Buffer.from(name)),
      encodeSized(text === null ? null : Buffer.from(text)),
    ]);
    const parts = [
      Buffer.from([0]),
      encodeVarint(delta ?? index),
      encodeVarint(index),
      encodeSized(key),
      encodeSized(value),
    ];
    const count = encodeVarint(headers.length + furtherHeaders);
    return encodeSized(
      Buffer.concat([...parts, count, ...named, Buffer.alloc(3 * furtherHeaders, emptyHeader)]),
    );
  });
  const payload = compress(Buffer.concat(bodies));
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(BigInt(firstOffset), 0);
  head.writeInt32BE(49 + payload.length, 8);
  head.writeInt8(2, 16);
  head.writeInt16BE(codec, 21);
  head.writeInt32BE(lastOffset - firstOffset, 23);
  head.writeBigInt64BE(BigInt(timestamp), 27);
  head.writeBigInt64BE(BigInt(timestamp) + BigInt(records.length - 1), 35);
  head.writeBigInt64BE(-1n, 43);
  head.writeInt32BE(records.length, 57);
  return sealBatch(Buffer.concat([head, payload]));
}

/** Writes the checksum of a batch that was changed. */
export function sealBatch(batch: Buffer): Buffer {
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}
