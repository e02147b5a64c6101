/**
 * Numbers with seven bits per byte, as in Protocol Buffers. Records contain signed ones, in zigzag encoding;
 * the messages of Kafka's flexible versions contain unsigned ones.
 */

const toZigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

export function getUvarintBytes(value: number): number {
  let bytes = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) bytes += 1;
  return bytes;
}

/** Returns where the number ends. It divides instead of shifting, because times do not fit into 32 bits. */
export function writeUvarint(buffer: Buffer, value: number, start: number): number {
  let at = start;
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) {
    buffer[at] = (left % 0x80) | 0x80;
    at += 1;
  }
  buffer[at] = left;
  return at + 1;
}

export const getVarintBytes = (value: number): number => getUvarintBytes(toZigzag(value));

/** Returns where the number ends. */
export const writeVarint = (buffer: Buffer, value: number, start: number): number =>
  writeUvarint(buffer, toZigzag(value), start);

/** Reads a buffer from its start. Every method throws a RangeError at the end of the buffer. */
export class ByteReader {
  readonly #buffer: Buffer;
  /** What the buffer contains, for errors. */
  readonly #content: string;
  #at = 0;

  constructor(buffer: Buffer, content: string) {
    this.#buffer = buffer;
    this.#content = content;
  }

  get at(): number {
    return this.#at;
  }

  /** Returns where the skipped bytes begin. */
  skip(bytes: number): number {
    const start = this.#at;
    this.#at += bytes;
    return start;
  }

  /** The bytes share the memory of the buffer. */
  readBytes(length: number): Buffer {
    const end = this.#at + length;
    if (length < 0 || end > this.#buffer.length) throw new RangeError(`${this.#content} is truncated`);
    return this.#buffer.subarray(this.skip(length), end);
  }

  /** Reads an unsigned number of 32 bits. */
  readUvarint(): number {
    return this.#readBits() >>> 0;
  }

  /** Reads a signed number of 32 bits. */
  readVarint(): number {
    const bits = this.#readBits();
    return (bits >>> 1) ^ -(bits & 1);
  }

  /** Reads a signed number of 64 bits, as a bigint if it has more than four bytes. */
  readVarlong(): number | bigint {
    // Times are rarely further apart than four bytes express (37 hours in milliseconds), which a number reads
    // faster.
    for (let index = 0; index < 4; index += 1)
      if (this.#buffer.readUInt8(this.#at + index) < 0x80) return this.readVarint();
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#buffer.readUInt8(this.skip(1));
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return BigInt.asIntN(64, (result >> 1n) ^ -(result & 1n));
  }

  #readBits(): number {
    let result = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#buffer.readUInt8(this.#at);
      this.#at += 1;
      result |= (byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    throw new RangeError("a number has more than five bytes");
  }
}
