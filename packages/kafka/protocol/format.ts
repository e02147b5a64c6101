/**
 * Kafka's message format. A message of a flexible version (KIP-482) has unsigned varints as lengths, and
 * tagged fields at the end of every structure. The decoder of kafkajs 2.2.4 reads tagged fields one byte
 * short, so it is not used.
 */

import { ByteReader, getUvarintBytes, writeUvarint } from "../record-format/varint.ts";

/** The bytes of a request after its fixed header. */
export interface Writer {
  int8(value: number): Writer;
  int16(value: number): Writer;
  int32(value: number): Writer;
  int64(value: bigint | number | string): Writer;
  boolean(value: boolean): Writer;
  bytes(value: Buffer): Writer;
  uvarint(value: number): Writer;
  /** Writes a nullable string. */
  text(value: string | null): Writer;
  /** Writes a nullable list. */
  list<T>(items: readonly T[] | null, write: (item: T) => void): Writer;
  /** Ends a structure, without tagged fields. */
  end(): Writer;
  toBuffer(): Buffer;
}

export function createWriter(isFlexible: boolean): Writer {
  const parts: Buffer[] = [];

  const allocate = (size: number, write: (part: Buffer) => void): Writer => {
    const part = Buffer.allocUnsafe(size);
    write(part);
    parts.push(part);
    return writer;
  };

  const writer: Writer = {
    int8: (value) => allocate(1, (part) => part.writeInt8(value)),
    int16: (value) => allocate(2, (part) => part.writeInt16BE(value)),
    int32: (value) => allocate(4, (part) => part.writeInt32BE(value)),
    int64: (value) => allocate(8, (part) => part.writeBigInt64BE(BigInt(value))),
    boolean: (value) => writer.int8(value ? 1 : 0),
    bytes(value) {
      parts.push(value);
      return writer;
    },
    uvarint: (value) => allocate(getUvarintBytes(value), (part) => writeUvarint(part, value, 0)),
    text(value) {
      if (value === null) return isFlexible ? writer.uvarint(0) : writer.int16(-1);
      const bytes = Buffer.from(value);
      return (isFlexible ? writer.uvarint(bytes.length + 1) : writer.int16(bytes.length)).bytes(bytes);
    },
    list(items, write) {
      const size = items?.length ?? -1;
      if (isFlexible) writer.uvarint(size + 1);
      else writer.int32(size);
      items?.forEach(write);
      return writer;
    },
    end: () => (isFlexible ? writer.uvarint(0) : writer),
    toBuffer: () => Buffer.concat(parts),
  };
  return writer;
}

/** Reads a response. Throws a RangeError if it ends too early. */
export type Reader = ReturnType<typeof createReader>;

export function createReader(buffer: Buffer, isFlexible: boolean) {
  const input = new ByteReader(buffer, "a response");
  return {
    uvarint: () => input.readUvarint(),
    bytes: (size: number) => input.readBytes(size),
    int16: () => buffer.readInt16BE(input.skip(2)),
    int32: () => buffer.readInt32BE(input.skip(4)),
    int64: () => buffer.readBigInt64BE(input.skip(8)),
    boolean: () => buffer.readInt8(input.skip(1)) !== 0,
    /** Reads a nullable string. */
    text(): string | null {
      const size = isFlexible ? input.readUvarint() - 1 : buffer.readInt16BE(input.skip(2));
      return size < 0 ? null : input.readBytes(size).toString();
    },
    /** A null list is read as an empty one. */
    list<T>(read: () => T): T[] {
      const items: T[] = [];
      const count = isFlexible ? input.readUvarint() - 1 : buffer.readInt32BE(input.skip(4));
      for (let left = count; left > 0; left -= 1) items.push(read());
      return items;
    },
    /** Ends a structure: skips its tagged fields. */
    end(): void {
      if (!isFlexible) return;
      for (let count = input.readUvarint(); count > 0; count -= 1) {
        input.readUvarint();
        input.readBytes(input.readUvarint());
      }
    },
  };
}
