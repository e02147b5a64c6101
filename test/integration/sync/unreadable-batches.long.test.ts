import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";

import { compressFrameSync } from "lz4-napi";
import { compressSync } from "snappy";

import { connectDeadLetters } from "../../support/dead-letters.ts";
import { produceBatches } from "../../support/raw-produce.ts";
import { createRecordBatch, type BatchOptions } from "../../support/record-batch.ts";
import { definition, stage } from "../../support/scene.ts";
import { until } from "../../support/poll.ts";

const { kafka, producer, scene } = stage();

const toRecord = (id: string) => ({
  key: Buffer.from(id),
  value: Buffer.from(JSON.stringify(definition(id))),
});

const createBatch = (ids: readonly string[], options: BatchOptions = {}): Buffer =>
  createRecordBatch(0, ids.map(toRecord), { timestamp: Date.now(), ...options });

const halves = (records: Buffer): Buffer[] => {
  const middle = records.length >> 1;
  return [records.subarray(0, middle), records.subarray(middle)];
};

const garbage = Buffer.from("no frame at all");
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]);
const skippableFrame = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
const emptyFrame = zstdCompressSync("");

/** A stream of the framing that Kafka's Java client puts around snappy, with one block. */
function compressXerial(records: Buffer): Buffer {
  const block = compressSync(records);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(block.length);
  return Buffer.concat([
    Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
    length,
    block,
  ]);
}

type Compress = (records: Buffer) => Buffer;

/** By the codec's number: what Apache Kafka's own readers accept. */
const readable: Readonly<Record<string, readonly [codec: number, Compress]>> = {
  "gzip, bytes after the member": [1, (all) => Buffer.concat([gzipSync(all), garbage.subarray(0, 14)])],
  "gzip, many bytes after it": [1, (all) => Buffer.concat([gzipSync(all), Buffer.alloc(20_000, "x")])],
  "gzip, zeros after it": [1, (all) => Buffer.concat([gzipSync(all), Buffer.alloc(100)])],
  "gzip, the header of another member after it": [1, (all) => Buffer.concat([gzipSync(all), gzipHeader])],
  "gzip, two members": [1, (all) => Buffer.concat(halves(all).map((half) => gzipSync(half)))],
  "gzip, two members and bytes after them": [
    1,
    (all) => Buffer.concat([...halves(all).map((half) => gzipSync(half)), garbage]),
  ],
  "snappy, framed": [2, compressXerial],
  "snappy, framed, two streams": [2, (all) => Buffer.concat(halves(all).map(compressXerial))],
  "snappy, framed, three bytes after it": [
    2,
    (all) => Buffer.concat([compressXerial(all), garbage.subarray(0, 3)]),
  ],
  "lz4, bytes after the frame": [3, (all) => Buffer.concat([compressFrameSync(all), garbage])],
  "lz4, the same frame after it": [
    3,
    (all) => Buffer.concat([compressFrameSync(all), compressFrameSync(all)]),
  ],
  "zstd, two frames": [4, (all) => Buffer.concat(halves(all).map((half) => zstdCompressSync(half)))],
  "zstd, a skippable frame first": [4, (all) => Buffer.concat([skippableFrame, zstdCompressSync(all)])],
  "zstd, a skippable frame last": [4, (all) => Buffer.concat([zstdCompressSync(all), skippableFrame])],
  "zstd, a truncated frame last": [
    4,
    (all) => Buffer.concat([zstdCompressSync(all), zstdCompressSync(all).subarray(0, -4)]),
  ],
};

describe("a batch that the broker accepts", () => {
  it("is read, however it is compressed", async () => {
    const at = scene();
    await at.createTopic();
    const batches = Object.entries(readable).map(([name, [codec, compress]]) =>
      createBatch([`${name}: 1`, `${name}: 2`], { codec, compress }),
    );
    await produceBatches(kafka, at.topic, batches);
    await at.start();
    await at.caughtUp();
    const stored = new Set((await at.topics.find({}).toArray()).map(({ topic_id }) => topic_id));
    for (const name of Object.keys(readable))
      assert.ok(stored.has(`${name}: 1`) && stored.has(`${name}: 2`), name);
    assert.equal(await at.deadLetters(), 0);
  });

  it("becomes one dead letter with its offsets if it cannot be decoded, and everything after it is read", async (t) => {
    const at = scene();
    await at.createTopic();
    const addFrames: Compress = (all) =>
      Buffer.concat([zstdCompressSync(all), ...Array.from({ length: 1_000 }, () => emptyFrame)]);
    await produceBatches(kafka, at.topic, [
      createBatch(["a"]),
      createBatch(["b", "c", "d"], { codec: 4, compress: addFrames }),
      createBatch(["e"]),
    ]);
    const service = await at.start();
    await at.reached(5);
    await producer.send({ topic: at.topic, messages: [{ ...toRecord("f") }] });
    await at.reached(6);
    assert.deepEqual(
      (await at.topics.find({}).toArray()).map(({ topic_id }) => topic_id),
      ["a", "e", "f"],
    );
    assert.deepEqual(
      service.log.filter(({ msg }) => msg === "batch rejected unread").map((line) => line["code"]),
      ["UNDECODABLE"],
    );
    const { open } = await connectDeadLetters(t, at);
    const letter = (await open().get(`${at.topic}-0-3`, "all"))?.view;
    assert.equal(letter?.code, "UNDECODABLE");
    assert.match(letter.message, /from offset 1 to 3 are one batch.*more than 1000 compressed frames/);
    assert.match(letter.omitted ?? "", /at the offsets 1 to 3 of /);
  });

  it("becomes one dead letter if it has millions of headers, and everything after it is read", async (t) => {
    const at = scene();
    await at.createTopic();
    const batch = createRecordBatch(0, [toRecord("a"), { ...toRecord("b"), furtherHeaders: 2_000_000 }], {
      timestamp: Date.now(),
    });
    assert.ok(batch.length < 20_000);
    await produceBatches(kafka, at.topic, [batch, createBatch(["c"])]);
    await at.start();
    await until("the last topic is stored", async () => (await at.count()) === 1);
    await at.reached(3);
    const { open } = await connectDeadLetters(t, at);
    const letter = (await open().get(`${at.topic}-0-1`, "all"))?.view;
    assert.equal(letter?.code, "TOO_LARGE");
    assert.match(letter.omitted ?? "", /at the offsets 0 to 1 of /);
    assert.equal(await at.deadLetters(), 1);
  });
});
