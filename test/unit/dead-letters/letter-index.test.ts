import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { identifyTopic } from "../../../consumers/announcements/decode.ts";
import { readConfig } from "../../../src/config.ts";
import { createDeadLetterIndex } from "../../../src/dead-letters/dead-letter-index.ts";
import { readPage } from "../../../src/dead-letters/page.ts";
import { createRecordCache } from "../../../src/dead-letters/record-cache.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { makeTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";

const stack = sharedStack();
const { admin, producer } = testKafka(stack.kafka);
const log = await createLogger("silent");
const broker = createBroker({ ...readConfig({}).kafka, brokers: [stack.kafka] }, log);
const { signal: never } = new AbortController();

before(async () => {
  await Promise.all([admin.connect(), producer.connect(), broker.reach(never)]);
});
after(() => broker.close());

/** A dead-letter topic, what writes letters into it, and an index that knows so many. */
async function scene(most: number, numPartitions = 1) {
  const topic = unique("dead-letter");
  await makeTopics(admin, { topic, numPartitions });
  const read: number[] = [];
  const index = createDeadLetterIndex({
    reader: broker,
    topic,
    identify: identifyTopic,
    most,
    passing: ({ record }) => void read.push(record.offset),
    abort: never,
  });
  async function write(offsets: readonly number[], { partition = 0, time = Date.now() } = {}): Promise<void> {
    const messages = offsets.map((offset) => ({
      value: `value ${offset}`,
      partition,
      timestamp: String(time),
      headers: {
        "__connect.errors.topic": "source",
        "__connect.errors.partition": "0",
        "__connect.errors.offset": String(offset),
        "topicsync.id": `source-0-${offset}`,
        "topicsync.code": "TOO_LARGE",
      },
    }));
    await producer.send({ topic, messages });
  }
  const ids = () => index.all().map(({ id }) => Number(id.slice("source-0-".length)));
  return { topic, index, read, write, ids };
}

describe("the index of dead letters", () => {
  it("knows the newest, reads each record once, and counts copies", async () => {
    const { index, read, write, ids } = await scene(3);
    await index.readOn();
    assert.deepEqual([ids(), index.older()], [[], 0]);
    await write([1, 2, 3, 4]);
    await Promise.all([index.readOn(), index.readOn()]);
    assert.deepEqual([ids(), index.older()], [[4, 3, 2], 1]);
    await write([3, 5]);
    await index.readOn();
    assert.deepEqual([ids(), index.older()], [[5, 3, 4], 2]);
    assert.equal(index.find("source-0-3")?.copies, 2);
    assert.equal(index.find("source-0-1"), undefined);
    await write([6, 7, 8, 9]);
    await index.readOn();
    assert.deepEqual([ids(), index.older()], [[9, 8, 7], 7]);
    assert.deepEqual(read, [1, 2, 3, 4, 5, 7, 8, 9]);
  });

  it("forgets what was deleted from the topic, and begins anew where the topic was made anew", async () => {
    const { topic, index, write, ids } = await scene(10);
    await write([1, 2, 3]);
    await index.readOn();
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "2" }] });
    await index.readOn();
    assert.deepEqual([ids(), index.older()], [[3], 0]);
    await admin.deleteTopics({ topics: [topic] });
    await makeTopics(admin, { topic, numPartitions: 1 });
    await write([7]);
    await index.readOn();
    assert.deepEqual(ids(), [7]);
  });

  it("orders the letters of several partitions by their times, and those of one as they lie, page by page", async () => {
    const { index, write } = await scene(10, 2);
    await write([1, 2], { time: 1_000_000 });
    await write([3], { partition: 1, time: 2_000_000 });
    await write([4], { time: 3_000_000 });
    // Announced long ago, and refused now.
    await write([5], { time: 500_000 });
    await write([6], { partition: 1, time: 4_000_000 });
    await index.readOn();
    const found: string[] = [];
    let after: string | undefined;
    do {
      const wish = { code: "TOO_LARGE", replayed: undefined, after, limit: 2 };
      const page = await readPage(index.all(), wish, () => Promise.resolve(new Map()));
      found.push(...page.letters.map(({ facts }) => facts.id.slice(-1)));
      after = page.next;
    } while (after !== undefined);
    assert.deepEqual(found, ["6", "5", "4", "3", "2", "1"]);
  });
});

describe("the shelf of dead letters", () => {
  it("gives records whole, those at hand and those that have to be read, in their order", async () => {
    const { topic, write } = await scene(10);
    await write([1, 2, 3, 4, 5]);
    const shelf = createRecordCache({ reader: broker, topic, maxBytes: 1_500, abort: never });
    const take = async (...offsets: number[]): Promise<string[]> => {
      const values: string[] = [];
      for await (const { record } of shelf.take(offsets.map((offset) => ({ partition: 0, offset }))))
        values.push(String(record.value));
      return values;
    };
    assert.deepEqual(await take(4, 1), ["value 2", "value 5"]);
    assert.deepEqual(await take(3, 1, 99), ["value 2", "value 4"]);
    assert.deepEqual(await take(3), ["value 4"]);
    await admin.deleteTopics({ topics: [topic] });
    assert.deepEqual(await take(3), ["value 4"], "it is at hand");
  });
});
