import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import {
  ByteReader,
  getUvarintBytes,
  getVarintBytes,
  writeUvarint,
  writeVarint,
} from "../../record-format/varint.ts";

const createReader = (buffer: Buffer): ByteReader => new ByteReader(buffer, "the test");

describe("numbers of variable length", () => {
  it("are read as they were written, in the measured number of bytes", () => {
    const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    // Zigzag encoding doubles a number, which must stay exact.
    const int52 = fc.integer({ min: -(2 ** 52), max: 2 ** 52 });
    fc.assert(
      fc.property(int32, int52, fc.nat({ max: 2 ** 32 - 1 }), (signed, time, unsigned) => {
        const sizes = [getVarintBytes(signed), getVarintBytes(time), getUvarintBytes(unsigned)];
        const buffer = Buffer.alloc(sizes.reduce((total, size) => total + size));
        const end = writeVarint(buffer, time, writeVarint(buffer, signed, 0));
        assert.equal(writeUvarint(buffer, unsigned, end), buffer.length);
        const reader = createReader(buffer);
        assert.deepEqual(
          [reader.readVarint(), Number(reader.readVarlong()), reader.readUvarint(), reader.at],
          [signed, time, unsigned, buffer.length],
        );
      }),
    );
  });

  it("of 32 bits have at most five bytes, and end before the buffer does", () => {
    const tooLong = Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0]);
    for (const bytes of [tooLong, tooLong.subarray(0, 3)]) {
      assert.throws(() => createReader(bytes).readUvarint(), RangeError);
      assert.throws(() => createReader(bytes).readVarint(), RangeError);
    }
    assert.throws(() => createReader(tooLong.subarray(0, 3)).readVarlong(), RangeError);
  });

  it("do not make a reader leave its buffer", () => {
    const reader = createReader(Buffer.alloc(4));
    assert.throws(() => reader.readBytes(5), { name: "RangeError", message: "the test is truncated" });
    assert.throws(() => reader.readBytes(-1), RangeError);
    assert.equal(reader.readBytes(4).length, 4);
  });
});
