import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createGzip } from "node:zlib";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";

import kafkajs from "kafkajs";

import { encodeVarint } from "../../support/record-batch.ts";
import { definition, stage } from "../../support/scene.ts";
import { runCli } from "../../support/service.ts";

const { CompressionCodecs, CompressionTypes } = kafkajs;
const mib = 1024 * 1024;
const { producer, scene } = stage();
const toMessage = (id: string) => ({ key: id, value: JSON.stringify(definition(id)) });

/** A compressed record whose value is zeros, streamed because the value does not fit into memory. */
function compressZeros(megabytes: number): Promise<Buffer> {
  const valueLength = encodeVarint(megabytes * mib);
  const head = Buffer.concat([Buffer.from([0, 0, 0]), encodeVarint(-1), valueLength]);
  function* chunks(): Generator<Buffer> {
    yield Buffer.concat([encodeVarint(head.length + megabytes * mib + 1), head]);
    const zeros = Buffer.alloc(mib);
    for (let at = 0; at < megabytes; at += 1) yield zeros;
    yield encodeVarint(0);
  }
  return buffer(Readable.from(chunks()).pipe(createGzip({ level: 9 })));
}

/** The peak memory of a process in megabytes. */
const getPeakMemory = (pid: number | undefined): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

describe("a batch that is too large to decompress", () => {
  it("becomes one dead letter with its offsets for every codec, and the sync continues after it", async () => {
    const at = scene();
    await at.createTopic();
    const { GZIP, Snappy, LZ4, ZSTD } = CompressionTypes;
    const types = [GZIP, Snappy, LZ4, ZSTD];
    for (const compression of types)
      await producer.send({
        topic: at.topic,
        compression,
        messages: [toMessage(`with-${compression}`), { key: "large", value: Buffer.alloc(15 * mib) }],
      });
    await producer.send({ topic: at.topic, messages: [toMessage("good")] });
    const service = await at.start({ KAFKA_MAX_BATCH_BYTES: String(8 * mib) });
    await at.reached(9);
    assert.deepEqual(
      (await at.topics.find({}).toArray()).map(({ topic_id }) => topic_id),
      ["good"],
    );
    assert.equal(service.log.filter(({ msg }) => msg === "batch rejected unread").length, 4);
    assert.equal(await service.stop(), 0);

    const listed = await runCli(["dead-letters", "list", "--json"], at.settings);
    const letters = listed.output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      letters.map(({ id, code }) => [id, code]),
      [7, 5, 3, 1].map((offset) => [`${at.topic}-0-${offset}`, "TOO_LARGE"]),
    );
    const replayed = await runCli(["dead-letters", "replay", "--all", "--dry-run"], at.settings);
    assert.match(replayed.output + replayed.errors, /the records are at the offsets 6 to 7 of/);
    assert.equal(await at.deadLetters(), 4);
  });

  it("needs no more memory than the limit allows, regardless of its size", async () => {
    const at = scene();
    await at.createTopic();
    const bomb = await compressZeros(900);
    const plainGzip = CompressionCodecs[CompressionTypes.GZIP];
    CompressionCodecs[CompressionTypes.GZIP] = () => ({ compress: () => Promise.resolve(bomb) });
    await producer.send({
      topic: at.topic,
      compression: CompressionTypes.GZIP,
      messages: [{ value: "bomb" }],
    });
    CompressionCodecs[CompressionTypes.GZIP] = plainGzip;
    await producer.send({ topic: at.topic, messages: [toMessage("good")] });
    const service = await at.startProcess();
    await at.reached(2);
    assert.equal(await at.count(), 1);
    assert.equal(await at.deadLetters(), 1);
    const peak = getPeakMemory(service.process.pid);
    assert.ok(peak < 700, `the service used ${Math.round(peak)} MB`);
    assert.equal(await service.stop(), 0);
  });
});
