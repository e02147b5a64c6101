import assert from "node:assert/strict";
import { after, describe, it } from "node:test";

import kafkajs, { type Transaction } from "kafkajs";

import { UnavailableError } from "@topicsync/lib/errors";
import type { FetchedPart, OffsetRange, PartitionRecord } from "../interface/records.ts";
import { connectBroker } from "../../../test/support/broker.ts";
import { createKafkaTopics, deleteRecordsBefore } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { until } from "../../../test/support/poll.ts";
import { stage } from "../../../test/support/scene.ts";

const { kafka, admin, producer } = stage();
const groupId = unique("group");
const broker = await connectBroker(groupId);
const { signal: never } = new AbortController();

async function createTopic(numPartitions = 1): Promise<string> {
  const topic = unique("log");
  const configEntries = [{ name: "cleanup.policy", value: "delete" }];
  await createKafkaTopics(admin, { topic, numPartitions, configEntries });
  return topic;
}

const send = (topic: string, values: readonly string[], partition = 0) =>
  producer.send({ topic, messages: values.map((value) => ({ value, partition })) });

const deleteBefore = (topic: string, offset: number) =>
  deleteRecordsBefore(admin, { topic, partition: 0, offset });

async function readAll(topic: string, from?: ReadonlyMap<number, number>): Promise<PartitionRecord[]> {
  const placed: PartitionRecord[] = [];
  for await (const one of broker.read(topic, { abort: never, ...(from && { from }) })) placed.push(one);
  return placed;
}
const toTexts = (placed: readonly PartitionRecord[]) => placed.map(({ record }) => String(record.value));
async function beginTransaction(): Promise<Transaction> {
  const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
  await transactional.connect();
  after(() => transactional.disconnect());
  return transactional.transaction();
}
/** The broker acknowledges the end of a transaction before it writes the markers. */
const untilStable = (topic: string, offset: number) =>
  until(`records up to ${offset} are stable`, async () => {
    return (await broker.fetchBounds(topic))?.get(0)?.high === offset;
  });
const listGroups = async () => {
  const { groups } = await admin.listGroups();
  return groups.map((group) => group.groupId).filter((id) => id.startsWith(groupId));
};

describe("reading a Kafka topic", () => {
  it("returns every record, in order within each partition, without a consumer group", async () => {
    const topic = await createTopic(3);
    const toValues = (partition: number) => Array.from({ length: 500 }, (_, i) => `${partition}:${i}`);
    for (const partition of [0, 1, 2]) await send(topic, toValues(partition), partition);
    const placed = await readAll(topic);
    for (const partition of [0, 1, 2]) {
      const own = placed.filter((one) => one.partition === partition);
      assert.deepEqual(toTexts(own), toValues(partition));
      assert.deepEqual(
        own.map(({ record }) => record.offset),
        own.map((_, index) => index),
      );
    }
    assert.equal(placed.length, 1_500);
    assert.deepEqual(await listGroups(), []);
  });

  it("starts at the given offsets, or at the first record if that is later", async () => {
    const topic = await createTopic(2);
    await send(topic, ["a", "b", "c"], 0);
    await send(topic, ["d", "e"], 1);
    await deleteBefore(topic, 1);
    assert.deepEqual(toTexts(await readAll(topic)).toSorted(), ["b", "c", "d", "e"]);
    const from = new Map([
      [0, 0],
      [1, 1],
    ]);
    assert.deepEqual(toTexts(await readAll(topic, from)).toSorted(), ["b", "c", "e"]);
    assert.deepEqual(
      await readAll(
        topic,
        new Map([
          [0, 3],
          [1, 99],
        ]),
      ),
      [],
    );
  });

  it("returns nothing for an empty topic and for one whose records were deleted", async () => {
    const topic = await createTopic();
    assert.deepEqual(await readAll(topic), []);
    await send(topic, ["a", "b"]);
    await deleteBefore(topic, -1);
    assert.deepEqual(await readAll(topic), []);
  });

  it("ends after transaction markers, and returns no aborted records", async () => {
    const topic = await createTopic();
    const transactional = kafka.producer({
      transactionalId: unique("transaction"),
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await transactional.connect();
    for (const [value, commits] of [
      ["kept", true],
      ["aborted", false],
    ] as const) {
      const transaction = await transactional.transaction();
      await transaction.send({ topic, messages: [{ value }] });
      await (commits ? transaction.commit() : transaction.abort());
    }
    await transactional.disconnect();
    await until(
      "both markers are written",
      async () => (await broker.fetchBounds(topic))?.get(0)?.high === 4,
    );
    assert.deepEqual(toTexts(await readAll(topic)), ["kept"]);
    assert.deepEqual(await readAll(topic, new Map([[0, 1]])), []);
  });

  it("returns no records of two interleaved aborted transactions, from any offset", async () => {
    const topic = await createTopic();
    const [one, two] = await Promise.all([beginTransaction(), beginTransaction()]);
    const sendAs = (transaction: Transaction, value: string) =>
      transaction.send({ topic, messages: [{ value }] });
    await sendAs(one, "one, first");
    await sendAs(two, "two, first");
    await sendAs(one, "one, second");
    await sendAs(two, "two, second");
    await one.abort();
    await two.abort();
    await untilStable(topic, 6);
    await send(topic, ["good"]);
    for (const from of [0, 1, 2, 3, 4, 5, 6])
      assert.deepEqual(toTexts(await readAll(topic, new Map([[0, from]]))), ["good"]);
  });

  it("does not mistake a record for the end of an aborted transaction, with any key", async () => {
    const topic = await createTopic();
    const transaction = await beginTransaction();
    for (const value of ["first", "second"])
      await transaction.send({ topic, messages: [{ key: Buffer.alloc(4), value }] });
    await transaction.abort();
    await untilStable(topic, 3);
    await send(topic, ["good"]);
    assert.deepEqual(toTexts(await readAll(topic)), ["good"]);
  });

  it("ends at the end of the log at its start, even if more is sent while it reads", async () => {
    const topic = await createTopic();
    await send(topic, ["a", "b"]);
    const seen: string[] = [];
    for await (const { record } of broker.read(topic, { abort: never })) {
      seen.push(String(record.value));
      await send(topic, ["later"]);
    }
    assert.deepEqual(seen, ["a", "b"]);
  });

  it("can be stopped early", async () => {
    const topic = await createTopic();
    await send(
      topic,
      Array.from({ length: 1_000 }, (_, i) => String(i)),
    );
    for await (const { record } of broker.read(topic, { abort: never })) {
      if (record.offset === 10) break;
    }
  });

  it("throws UnavailableError when aborted", async () => {
    const topic = await createTopic();
    await send(topic, ["a"]);
    const abort = new AbortController();
    const reading = (async () => {
      for await (const placed of broker.read(topic, { abort: abort.signal })) {
        assert.equal(placed.partition, 0);
        abort.abort();
      }
    })();
    await assert.rejects(reading, UnavailableError);
  });

  it("reports a missing topic, and does not create it", async () => {
    const topic = unique("none");
    await assert.rejects(
      readAll(topic),
      (error) => error instanceof UnavailableError && error.message.includes(topic),
    );
    assert.equal(await broker.fetchBounds(topic), undefined);
    assert.ok(!(await admin.listTopics()).includes(topic));
  });
});

describe("reading ranges of a Kafka topic", () => {
  const readRanges = (topic: string, ranges: readonly OffsetRange[]) =>
    broker.readRanges(topic, { ranges, abort: never });

  it("returns what is in the ranges, of the partitions in turn", async () => {
    const topic = await createTopic(3);
    for (const partition of [0, 1, 2])
      for (const half of [0, 1])
        await send(
          topic,
          Array.from({ length: 4 }, (_, i) => `${partition}:${4 * half + i}`),
          partition,
        );
    const ranges = [
      { partition: 0, from: 2, to: 7 },
      { partition: 1, from: 3, to: 3 },
      { partition: 2, from: 0, to: 1 },
    ];
    const texts: string[] = [];
    const ends = new Map<number, number>();
    for await (const { partition, records, end } of readRanges(topic, ranges)) {
      texts.push(...records.map(({ value }) => String(value)));
      ends.set(partition, end);
    }
    assert.deepEqual(texts.toSorted(), ["0:2", "0:3", "0:4", "0:5", "0:6", "2:0"]);
    assert.deepEqual(
      ends,
      new Map([
        [0, 7],
        [2, 1],
      ]),
    );
    assert.deepEqual(await listGroups(), []);
  });

  it("ends at its end where only records of an aborted transaction are", async () => {
    const topic = await createTopic();
    await send(topic, ["a"]);
    const transaction = await beginTransaction();
    await transaction.send({ topic, messages: [{ value: "b" }, { value: "c" }] });
    await transaction.abort();
    await untilStable(topic, 4);
    const parts: FetchedPart[] = [];
    for await (const part of readRanges(topic, [{ partition: 0, from: 1, to: 4 }])) parts.push(part);
    assert.deepEqual(
      parts.flatMap(({ records }) => records),
      [],
    );
    assert.equal(parts.at(-1)?.end, 4);
  });

  it("throws when records are deleted before they are read, instead of returning fewer", async () => {
    const topic = await createTopic(3);
    for (const partition of [0, 1, 2]) await send(topic, ["a", "b"], partition);
    const ranges = [0, 1, 2].map((partition) => ({ partition, from: 0, to: 2 }));
    const reading = (async () => {
      for await (const { partition } of readRanges(topic, ranges))
        if (partition === 0) await deleteRecordsBefore(admin, { topic, partition: 2, offset: 1 });
    })();
    await assert.rejects(
      reading,
      (error) =>
        error instanceof UnavailableError &&
        error.message.includes(`deleted the records of partition 2 of ${topic} from offset 0 on`),
    );
  });
});
