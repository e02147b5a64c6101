import { gzipSync } from "node:zlib";

/** Encodes a number as a zigzag varint, as in Protocol Buffers. */
export function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}

const encodeSized = (bytes: Buffer | null): Buffer =>
  bytes === null ? encodeVarint(-1) : Buffer.concat([encodeVarint(bytes.length), bytes]);

export interface GivenRecord {
  readonly key?: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly (readonly [string, string | null])[];
}

/** Creates a record batch (Kafka's documentation, "Record Batch"), compressed with gzip. */
export function createRecordBatch(
  firstOffset: number,
  records: readonly GivenRecord[],
  { timestamp = 1_700_000_000_000, lastOffset = firstOffset + records.length - 1 } = {},
): Buffer {
  const bodies = records.map(({ key = null, value, headers = [] }, index) => {
    const named = headers.flatMap(([name, text]) => [
      encodeSized(Buffer.from(name)),
      encodeSized(text === null ? null : Buffer.from(text)),
    ]);
    const parts = [
      Buffer.from([0]),
      encodeVarint(index),
      encodeVarint(index),
      encodeSized(key),
      encodeSized(value),
    ];
    return encodeSized(Buffer.concat([...parts, encodeVarint(headers.length), ...named]));
  });
  const payload = gzipSync(Buffer.concat(bodies));
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(BigInt(firstOffset), 0);
  head.writeInt32BE(49 + payload.length, 8);
  head.writeInt8(2, 16);
  head.writeInt16BE(1, 21);
  head.writeInt32BE(lastOffset - firstOffset, 23);
  head.writeBigInt64BE(BigInt(timestamp), 27);
  head.writeBigInt64BE(BigInt(timestamp + records.length - 1), 35);
  head.writeBigInt64BE(-1n, 43);
  head.writeInt32BE(records.length, 57);
  return Buffer.concat([head, payload]);
}
