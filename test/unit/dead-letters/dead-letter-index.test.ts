import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { createDeadLetterIndex } from "../../../src/dead-letters/dead-letter-index.ts";
import { readPage } from "../../../src/dead-letters/page.ts";
import { createRecordCache } from "../../../src/dead-letters/record-cache.ts";
import { connectBroker } from "../../support/broker.ts";
import { deadLetterMessage } from "../../support/dead-letters.ts";
import { createKafkaTopics, recreateKafkaTopic } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { stage } from "../../support/scene.ts";

const { kafka, admin, producer } = stage();
const broker = await connectBroker();
const { signal: never } = new AbortController();

/** A dead-letter topic and an index of it. */
async function createScene(maxDeadLetters: number, numPartitions = 1) {
  const topic = unique("dead-letter");
  await createKafkaTopics(admin, { topic, numPartitions });
  const read: number[] = [];
  const index = createDeadLetterIndex({
    reader: broker,
    topic,
    identify: identifyTopic,
    maxDeadLetters,
    onRecord: ({ record }) => void read.push(record.offset),
    onProgress: () => undefined,
    abort: never,
  });
  async function write(offsets: readonly number[], { partition = 0, time = Date.now() } = {}): Promise<void> {
    const messages = offsets.map((offset) =>
      deadLetterMessage(
        { topic: "source", partition: 0, offset },
        { value: `value ${offset}`, code: "TOO_LARGE", partition, time },
      ),
    );
    await producer.send({ topic, messages });
  }
  const listIds = () => index.list().map(({ id }) => Number(id.slice("source-0-".length)));
  return { topic, index, read, write, listIds };
}

describe("the index of dead letters", () => {
  it("contains the newest, reads each record once, and counts copies", async () => {
    const { index, read, write, listIds } = await createScene(3);
    await index.refresh();
    assert.deepEqual([listIds(), index.countUnlisted()], [[], 0]);
    await write([1, 2, 3, 4]);
    await index.refresh();
    assert.deepEqual([listIds(), index.countUnlisted()], [[4, 3, 2], 1]);
    await write([3, 5]);
    await index.refresh();
    assert.deepEqual([listIds(), index.countUnlisted()], [[5, 3, 4], 2]);
    assert.equal(index.find("source-0-3")?.copies, 2);
    assert.equal(index.find("source-0-1"), undefined);
    await write([6, 7, 8, 9]);
    await index.refresh();
    assert.deepEqual([listIds(), index.countUnlisted()], [[9, 8, 7], 7]);
    assert.deepEqual(read, [1, 2, 3, 4, 5, 7, 8, 9]);
  });

  it("drops deleted records, and starts over if the topic was created again", async () => {
    const { topic, index, write, listIds } = await createScene(10);
    await write([1, 2, 3]);
    await index.refresh();
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "2" }] });
    await index.refresh();
    assert.deepEqual([listIds(), index.countUnlisted()], [[3], 0]);
    await recreateKafkaTopic({ kafka, admin }, { topic });
    await write([7]);
    await index.refresh();
    assert.deepEqual(listIds(), [7]);
  });

  it("orders several partitions by time and each partition by offset, page by page", async () => {
    const { index, write } = await createScene(10, 2);
    await write([1, 2], { time: 1_000_000 });
    await write([3], { partition: 1, time: 2_000_000 });
    await write([4], { time: 3_000_000 });
    // Announced long ago, rejected now.
    await write([5], { time: 500_000 });
    await write([6], { partition: 1, time: 4_000_000 });
    await index.refresh();
    const found: string[] = [];
    let after: string | undefined;
    do {
      const filter = { codes: new Set(["TOO_LARGE"]) };
      const page = await readPage(index.list(), { filter, after, limit: 2 }, () =>
        Promise.resolve(new Map()),
      );
      found.push(...page.deadLetters.map(({ id }) => id.slice(-1)));
      after = page.next ?? undefined;
    } while (after !== undefined);
    assert.deepEqual(found, ["6", "5", "4", "3", "2", "1"]);
  });
});

describe("the cache of dead-letter records", () => {
  it("returns whole records in the requested order, cached or read from the topic", async () => {
    const { topic, write } = await createScene(10);
    await write([1, 2, 3, 4, 5]);
    const cache = createRecordCache({ reader: broker, topic, maxBytes: 2_000, abort: never });
    const read = async (...offsets: number[]): Promise<string[]> => {
      const values: string[] = [];
      const wanted = offsets.map((offset) => ({ position: { partition: 0, offset }, bytes: 1_000 }));
      for await (const [, { record }] of cache.read(wanted)) values.push(String(record.value));
      return values;
    };
    assert.deepEqual(await read(4, 1), ["value 5", "value 2"]);
    assert.deepEqual(await read(3, 1, 99), ["value 4", "value 2"]);
    assert.deepEqual(await read(3), ["value 4"]);
    await admin.deleteTopics({ topics: [topic] });
    assert.deepEqual(await read(3), ["value 4"], "it is cached");
  });
});
