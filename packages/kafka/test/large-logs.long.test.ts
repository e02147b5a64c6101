import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { connectBroker } from "../../../test/support/broker.ts";
import { createKafkaTopics } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { stage } from "../../../test/support/scene.ts";

const { CompressionTypes } = kafkajs;
const { admin, producer } = stage();
const broker = await connectBroker(unique("group"));
const { signal: never } = new AbortController();

async function createTopic(): Promise<string> {
  const topic = unique("log");
  await createKafkaTopics(admin, { topic, numPartitions: 1 });
  return topic;
}

describe("reading a large Kafka topic", () => {
  it("returns every record of batches that are too large for one fetch", async () => {
    const topic = await createTopic();
    const value = Buffer.alloc(24 * 1024 * 1024);
    for (const key of ["a", "b", "c", "d"])
      await producer.send({
        topic,
        compression: CompressionTypes.GZIP,
        messages: [{ key, value }, { value: "small" }],
      });
    const keys: string[] = [];
    for await (const { record } of broker.read(topic, { abort: never }))
      keys.push(`${String(record.key)} ${record.value?.length}`);
    assert.deepEqual(
      keys,
      ["a", "b", "c", "d"].flatMap((key) => [`${key} ${value.length}`, "null 5"]),
    );
  });

  it("needs no more memory for 120 MB than for a few responses of the broker", async () => {
    const topic = await createTopic();
    const value = randomBytes(10_000);
    for (let batch = 0; batch < 240; batch += 1) {
      await producer.send({ topic, messages: Array.from({ length: 50 }, () => ({ value })) });
    }
    let count = 0;
    let maxGrowth = 0;
    const before = process.memoryUsage().rss;
    for await (const { record } of broker.read(topic, { abort: never })) {
      assert.equal(record.offset, count);
      count += 1;
      if (count % 1_000 === 0) maxGrowth = Math.max(maxGrowth, process.memoryUsage().rss - before);
    }
    assert.equal(count, 12_000);
    assert.ok(maxGrowth < 80 * 1024 * 1024, `memory grew by ${maxGrowth} bytes`);
  });
});
