import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";

import { compress as snappyCompress } from "snappy";

import { BatchTooLargeError, codecs } from "../../record-format/codecs.ts";
import { measureLz4 } from "../../record-format/lz4-size.ts";
import { createRandom } from "../../../../test/support/random.ts";

const mib = 1024 * 1024;
const names = new Map([
  [1, "gzip"],
  [2, "snappy"],
  [3, "lz4"],
  [4, "zstd"],
]);
const zeros = Buffer.alloc(5 * mib);
const random = createRandom(1);
/** Does not become smaller. */
const noise = Buffer.from(Array.from({ length: mib }, () => random.between(0, 255)));

/** The framing that Kafka's Java client puts around snappy: a header, and blocks with their lengths. */
async function compressXerial(buffer: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [
    Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
  ];
  for (let at = 0; at < buffer.length; at += 32 * 1024) {
    const block = await snappyCompress(buffer.subarray(at, at + 32 * 1024));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

for (const [type, codec] of codecs)
  describe(`the codec ${names.get(type)}`, () => {
    it("decompresses data within the limit", async () => {
      const texts = Buffer.from(
        JSON.stringify(Array.from({ length: 5_000 }, (_, at) => ({ id: `id-${at}` }))),
      );
      for (const plain of [zeros, texts, noise, Buffer.from("a")]) {
        const compressed = await codec.compress({ buffer: plain });
        assert.ok(plain.equals(await codec.decompress(compressed, plain.length)));
      }
    });

    it("stops at the limit", async () => {
      const compressed = await codec.compress({ buffer: zeros });
      await assert.rejects(codec.decompress(compressed, zeros.length - 1), BatchTooLargeError);
      await assert.rejects(codec.decompress(compressed, 0), BatchTooLargeError);
    });
  });

describe("several compressed frames", () => {
  for (const type of [1, 4]) {
    const codec = codecs.get(type);
    assert.ok(codec !== undefined);

    it(`are limited together, and in number, with ${names.get(type)}`, async () => {
      const frame = await codec.compress({ buffer: zeros });
      const two = Buffer.concat([frame, frame]);
      assert.equal((await codec.decompress(two, 2 * zeros.length)).length, 2 * zeros.length);
      await assert.rejects(codec.decompress(two, 2 * zeros.length - 1), BatchTooLargeError);
      const small = await codec.compress({ buffer: Buffer.from("a") });
      const many = Buffer.concat(Array.from({ length: 1_001 }, () => small));
      assert.equal((await codec.decompress(many.subarray(0, -small.length), mib)).length, 1_000);
      await assert.rejects(codec.decompress(many, mib), RangeError);
    });
  }

  it("may have every field in the header of a gzip member", async () => {
    const codec = codecs.get(1);
    const plain = Buffer.from("plain");
    const member = gzipSync(plain);
    const header = Buffer.from([0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 0, 2, 0, 9, 9]);
    const named = Buffer.concat([header, Buffer.from("name\0comment\0\x01\x02"), member.subarray(10)]);
    assert.equal(String(await codec?.decompress(Buffer.concat([named, named]), mib)), "plainplain");
    await assert.rejects(async () => codec?.decompress(named.subarray(0, 16), mib), RangeError);
  });
});

describe("the codec Snappy with the framing of the Java client", () => {
  const codec = codecs.get(2);
  assert.ok(codec !== undefined);

  it("decompresses data within the limit, and stops at the limit", async () => {
    const compressed = await compressXerial(zeros);
    assert.ok(zeros.equals(await codec.decompress(compressed, zeros.length)));
    await assert.rejects(codec.decompress(compressed, zeros.length - 1), BatchTooLargeError);
  });

  it("reads streams one after the other", async () => {
    const streams = Buffer.concat([await compressXerial(zeros), await compressXerial(Buffer.from("end"))]);
    const expected = Buffer.concat([zeros, Buffer.from("end")]);
    assert.ok(expected.equals(await codec.decompress(streams, expected.length)));
  });
});

describe("the size of LZ4 frames", () => {
  const codec = codecs.get(3);
  assert.ok(codec !== undefined);

  it("is that of the first, without what follows it", async () => {
    const frame = await codec.compress({ buffer: zeros });
    const measured = { plainBytes: zeros.length, end: frame.length };
    for (const rest of [Buffer.alloc(0), frame, Buffer.from("no frame")])
      assert.deepEqual(measureLz4(Buffer.concat([frame, rest])), measured);
  });

  it("includes the checksum and the size of each block", () => {
    // FLG: version 1, independent blocks, block checksums, content size, content checksum. BD: 64 KB.
    const head = [0x04, 0x22, 0x4d, 0x18, 0x7c, 0x40, ...Buffer.alloc(8), 0x00];
    // One literal, a match of 4 + 15 + 255 + 1 bytes, and two literals at the end.
    const block = [0x1f, 0x61, 0x01, 0x00, 0xff, 0x01, 0x20, 0x62, 0x63];
    const plain = [0x03, 0, 0, 0x80, 0x64, 0x65, 0x66];
    const bytes = [
      ...head,
      block.length,
      0,
      0,
      0,
      ...block,
      ...Buffer.alloc(4),
      ...plain,
      ...Buffer.alloc(4),
    ];
    const frame = Buffer.from([...bytes, ...Buffer.alloc(4), ...Buffer.alloc(4)]);
    assert.deepEqual(measureLz4(frame), { plainBytes: 1 + 275 + 2 + 3, end: frame.length });
  });

  it("is not read from a truncated or invalid frame", async () => {
    const frame = await codec.compress({ buffer: zeros });
    for (const bad of [frame.subarray(0, -8), Buffer.from("not a frame")])
      assert.throws(() => measureLz4(bad), RangeError);
  });
});
