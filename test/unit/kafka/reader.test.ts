import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";

import kafkajs, { type Transaction } from "kafkajs";

import { readConfig } from "../../../src/config.ts";
import { UnavailableError } from "../../../src/lib/errors.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { PartitionRecord } from "../../../src/sync/records.ts";
import { makeTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";

const { CompressionTypes } = kafkajs;
const stack = sharedStack();
const { kafka, admin, producer } = testKafka(stack.kafka);
const groupId = unique("group");
const broker = createBroker(
  { ...readConfig({}).kafka, groupId, brokers: [stack.kafka] },
  await createLogger("silent"),
);
const { signal: never } = new AbortController();

before(async () => {
  await Promise.all([admin.connect(), producer.connect(), broker.reach(never)]);
});
after(() => broker.close());

async function topicOf(numPartitions = 1): Promise<string> {
  const topic = unique("log");
  const configEntries = [{ name: "cleanup.policy", value: "delete" }];
  await makeTopics(admin, { topic, numPartitions, configEntries });
  return topic;
}

const send = (topic: string, values: readonly string[], partition = 0) =>
  producer.send({ topic, messages: values.map((value) => ({ value, partition })) });

async function deleteBefore(topic: string, offset: string): Promise<void> {
  // kafkajs deletes nothing of a topic that it has not heard of.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] });
}

async function all(topic: string, from?: ReadonlyMap<number, number>): Promise<PartitionRecord[]> {
  const placed: PartitionRecord[] = [];
  for await (const one of broker.read(topic, { abort: never, ...(from && { from }) })) placed.push(one);
  return placed;
}
const texts = (placed: readonly PartitionRecord[]) => placed.map(({ record }) => String(record.value));
async function transactionOf(): Promise<Transaction> {
  const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
  await transactional.connect();
  after(() => transactional.disconnect());
  return transactional.transaction();
}
/** The broker writes the markers of transactions after it has answered their end. */
const stableUpTo = (topic: string, offset: number) =>
  until(`records up to ${offset} are stable`, async () => {
    return (await broker.bounds(topic))?.get(0)?.high === offset;
  });
const readers = async () => {
  const { groups } = await admin.listGroups();
  return groups.map((group) => group.groupId).filter((id) => id.startsWith(`${groupId}.reader-`));
};

describe("reading a Kafka topic", () => {
  it("gives every record of every partition, each partition in order, and leaves no group behind", async () => {
    const topic = await topicOf(3);
    const valuesOf = (partition: number) => Array.from({ length: 500 }, (_, i) => `${partition}:${i}`);
    for (const partition of [0, 1, 2]) await send(topic, valuesOf(partition), partition);
    const placed = await all(topic);
    for (const partition of [0, 1, 2]) {
      const own = placed.filter((one) => one.partition === partition);
      assert.deepEqual(texts(own), valuesOf(partition));
      assert.deepEqual(
        own.map(({ record }) => record.offset),
        own.map((_, index) => index),
      );
    }
    assert.equal(placed.length, 1_500);
    assert.deepEqual(await readers(), []);
  });

  it("begins at the given offsets, and at the first record where one lies before it", async () => {
    const topic = await topicOf(2);
    await send(topic, ["a", "b", "c"], 0);
    await send(topic, ["d", "e"], 1);
    await deleteBefore(topic, "1");
    assert.deepEqual(texts(await all(topic)).toSorted(), ["b", "c", "d", "e"]);
    const from = new Map([
      [0, 0],
      [1, 1],
    ]);
    assert.deepEqual(texts(await all(topic, from)).toSorted(), ["b", "c", "e"]);
    assert.deepEqual(
      await all(
        topic,
        new Map([
          [0, 3],
          [1, 99],
        ]),
      ),
      [],
    );
  });

  it("gives nothing of an empty topic and of one whose records are all deleted", async () => {
    const topic = await topicOf();
    assert.deepEqual(await all(topic), []);
    await send(topic, ["a", "b"]);
    await deleteBefore(topic, "-1");
    assert.deepEqual(await all(topic), []);
  });

  it("ends behind the marks of transactions, and gives nothing that was given up", async () => {
    const topic = await topicOf();
    const transactional = kafka.producer({
      transactionalId: unique("transaction"),
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await transactional.connect();
    for (const [value, commits] of [
      ["kept", true],
      ["given up", false],
    ] as const) {
      const transaction = await transactional.transaction();
      await transaction.send({ topic, messages: [{ value }] });
      await (commits ? transaction.commit() : transaction.abort());
    }
    await transactional.disconnect();
    await until("both marks are there", async () => (await broker.bounds(topic))?.get(0)?.high === 4);
    assert.deepEqual(texts(await all(topic)), ["kept"]);
    assert.deepEqual(await all(topic, new Map([[0, 1]])), []);
  });

  it("gives nothing of two interleaved transactions that were given up, wherever it begins", async () => {
    const topic = await topicOf();
    const [one, two] = await Promise.all([transactionOf(), transactionOf()]);
    const sendAs = (transaction: Transaction, value: string) =>
      transaction.send({ topic, messages: [{ value }] });
    await sendAs(one, "one, first");
    await sendAs(two, "two, first");
    await sendAs(one, "one, second");
    await sendAs(two, "two, second");
    await one.abort();
    await two.abort();
    await stableUpTo(topic, 6);
    await send(topic, ["good"]);
    for (const from of [0, 1, 2, 3, 4, 5, 6])
      assert.deepEqual(texts(await all(topic, new Map([[0, from]]))), ["good"]);
  });

  it("does not take a record for the end of a transaction that was given up, whatever its key", async () => {
    const topic = await topicOf();
    const transaction = await transactionOf();
    for (const value of ["first", "second"])
      await transaction.send({ topic, messages: [{ key: Buffer.alloc(4), value }] });
    await transaction.abort();
    await stableUpTo(topic, 3);
    await send(topic, ["good"]);
    assert.deepEqual(texts(await all(topic)), ["good"]);
  });

  it("ends where the topic ended when it began, however much is sent meanwhile", async () => {
    const topic = await topicOf();
    await send(topic, ["a", "b"]);
    const seen: string[] = [];
    for await (const { record } of broker.read(topic, { abort: never })) {
      seen.push(String(record.value));
      await send(topic, ["later"]);
    }
    assert.deepEqual(seen, ["a", "b"]);
  });

  it("can be left in its midst, which deletes its group", async () => {
    const topic = await topicOf();
    await send(
      topic,
      Array.from({ length: 1_000 }, (_, i) => String(i)),
    );
    for await (const { record } of broker.read(topic, { abort: never })) {
      assert.equal((await readers()).length, 1);
      if (record.offset === 10) break;
    }
    assert.deepEqual(await readers(), []);
  });

  it("that is aborted throws UnavailableError and deletes its group", async () => {
    const topic = await topicOf();
    await send(topic, ["a"]);
    const abort = new AbortController();
    const reading = (async () => {
      for await (const placed of broker.read(topic, { abort: abort.signal })) {
        assert.equal(placed.partition, 0);
        abort.abort();
      }
    })();
    await assert.rejects(reading, UnavailableError);
    assert.deepEqual(await readers(), []);
  });

  it("gives every record of batches that are together too large for one fetch", async () => {
    const topic = await topicOf();
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

  it("says when there is no such topic, and makes none", async () => {
    const topic = unique("none");
    await assert.rejects(
      all(topic),
      (error) => error instanceof UnavailableError && error.message.includes(topic),
    );
    assert.equal(await broker.bounds(topic), undefined);
    assert.ok(!(await admin.listTopics()).includes(topic));
  });

  it("takes no more memory for 120 MB than a few answers of the broker", async () => {
    const topic = await topicOf();
    const value = randomBytes(10_000);
    for (let batch = 0; batch < 240; batch += 1) {
      await producer.send({ topic, messages: Array.from({ length: 50 }, () => ({ value })) });
    }
    let count = 0;
    let most = 0;
    const before = process.memoryUsage().rss;
    for await (const { record } of broker.read(topic, { abort: never })) {
      assert.equal(record.offset, count);
      count += 1;
      if (count % 1_000 === 0) most = Math.max(most, process.memoryUsage().rss - before);
    }
    assert.equal(count, 12_000);
    assert.ok(most < 80 * 1024 * 1024, `it took ${most} bytes`);
  });
});
