import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ChangeStreamDocument, Collection } from "mongodb";

import { readConfig } from "../../../src/config.ts";
import { createBroker } from "../../../src/kafka/client.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, stage, type PositionRecord } from "../../support/scene.ts";
import { startTopicsync } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const topicsName = "svc_api_notif_mgmt_topic";
const stack = sharedStack();
const { kafka, admin, producer, scene } = stage(stack);
const log = await createLogger("silent");

async function countRecords(records: AsyncIterable<unknown>): Promise<number> {
  const iterator = records[Symbol.asyncIterator]();
  let length = 0;
  while (!(await iterator.next()).done) length += 1;
  return length;
}

describe("a log that is not what it was", () => {
  it("is read from its beginning when it was made anew, also when it has outgrown the old one", async () => {
    const { settings, topics, positions, createTopic, deleteTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    await first.stop();
    await deleteTopic();
    await createTopic();
    await announce(100, 130);
    const second = await startTopicsync(settings);
    await reached(30);
    assert.equal(await topics.countDocuments(), 40);
    assert.equal((await positions.findOne({}))?.epoch, 2);
    assert.equal(await second.stop(), 0);
  });

  it("is read from where it begins now, when records were deleted unread", async () => {
    const { settings, topic, createTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    await first.stop();
    await announce(10, 30);
    // So that the client knows the topic's leader.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "20" }] });
    const second = await startTopicsync(settings);
    await stored(20);
    await reached(30);
    assert.ok(second.log.some(({ msg }) => msg?.includes("deleted before they were read")));
    assert.equal(await second.stop(), 0);
  });

  it("fills an emptied database from what compaction left of the log", async () => {
    const { settings, topic, topics, positions, announce, retire, inStep } = scene();
    const configEntries = Object.entries({
      "cleanup.policy": "compact",
      "segment.ms": "100",
      "min.cleanable.dirty.ratio": "0.01",
      "max.compaction.lag.ms": "100",
    }).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] });
    for (const name of ["One", "Two", "Three"]) await announce(0, 50, name);
    await retire(40, 50);
    const first = await startTopicsync(settings);
    await inStep();
    await first.stop();

    const broker = createBroker({ ...readConfig(settings).kafka, brokers: [stack.kafka] }, log);
    await broker.reach(new AbortController().signal);
    await until(
      "most of the log is compacted away",
      async () => {
        // Only closed segments are compacted; a record that comes later closes them.
        await announce(50, 51);
        return (await countRecords(broker.read(topic, { abort: new AbortController().signal }))) < 100;
      },
      120_000,
    );
    await broker.close();
    await Promise.all([topics.deleteMany({}), positions.deleteMany({})]);
    const second = await startTopicsync(settings);
    await inStep();
    assert.equal(await second.stop(), 0);
  });

  it("is read on behind a segment that compaction left nothing of but an empty batch", async () => {
    const { settings, topic, topics, announce, reached } = scene();
    const configEntries = Object.entries({
      "cleanup.policy": "compact",
      "segment.bytes": String(1024 * 1024),
      "min.cleanable.dirty.ratio": "0.01",
      "max.compaction.lag.ms": "100",
    }).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] });
    // The last batch of an idempotent producer is kept without its records. Two of these do not fit into a segment.
    const messages = [{ key: "large", value: Buffer.alloc(600 * 1024) }];
    const idempotent = kafka.producer({ idempotent: true });
    await idempotent.connect();
    await idempotent.send({ topic, messages });
    await idempotent.disconnect();
    for (let sent = 0; sent < 3; sent += 1) await producer.send({ topic, messages });
    await announce(0, 1);

    const broker = createBroker({ ...readConfig(settings).kafka, brokers: [stack.kafka] }, log);
    await broker.reach(new AbortController().signal);
    await until(
      "the first segments are compacted",
      async () => (await countRecords(broker.read(topic, { abort: new AbortController().signal }))) === 3,
      120_000,
    );
    await broker.close();
    const service = await startTopicsync(settings);
    await reached(5);
    assert.deepEqual(await topics.distinct("topic_id"), ["id-0"]);
    assert.equal(await service.stop(), 0);
  });

  it("is still the same log behind the markers of transactions, committed and aborted", async () => {
    const { settings, topic, topics, positions, createTopic, announce, send, reached } = scene();
    await createTopic();
    const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
    await transactional.connect();
    const produce = async (id: string, end: "commit" | "abort"): Promise<void> => {
      const transaction = await transactional.transaction();
      await transaction.send({ topic, messages: [{ key: id, value: JSON.stringify(definition(id)) }] });
      await transaction[end]();
    };
    await send(definition("a"), "a", definition("a"));
    await produce("b", "commit");
    await produce("c", "abort");
    const first = await startTopicsync(settings);
    await reached(7);
    const ids = (await topics.distinct("_id")).toSorted();
    await announce(0, 1);
    await reached(8);
    await produce("d", "commit");
    await reached(10);
    await produce("e", "abort");
    // Nothing is delivered, and the position moves on all the same: there is no lag.
    await reached(12);
    await announce(1, 2);
    await reached(13);
    await produce("f", "commit");
    await transactional.disconnect();
    await reached(15);
    assert.equal(await first.stop(), 0);
    const second = await startTopicsync(settings);
    await second.ready();
    await announce(2, 3);
    await reached(16);
    assert.equal(await second.stop(), 0);

    assert.equal((await positions.findOne({}))?.epoch, undefined);
    const stored = (await topics.distinct("topic_id")).toSorted();
    assert.deepEqual(stored, ["a", "b", "d", "f", "id-0", "id-1", "id-2"]);
    const kept = await topics.distinct("_id", { topic_id: { $in: ["a", "b"] } });
    assert.deepEqual(kept.toSorted(), ids);
    for (const { log } of [first, second]) assert.ok(!log.some(isAboutLog));
  });

  it("is still the same log behind timestamps that are not in milliseconds", async () => {
    const { settings, topic, topics, positions, announce, reached } = scene();
    const configEntries = [{ name: "message.timestamp.after.max.ms", value: "9223372036854775807" }];
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] });
    await announce(0, 2);
    for (const timestamp of ["1732000000000000", "1732000000000000000"])
      await producer.send({ topic, messages: [{ ...odd(timestamp), timestamp }] });
    const first = await startTopicsync(settings);
    await reached(4);
    const ids = (await topics.distinct("_id")).toSorted();
    await announce(2, 3);
    await reached(5);
    assert.equal(await first.stop(), 0);
    const second = await startTopicsync(settings);
    await second.ready();
    await announce(3, 4);
    await reached(6);
    assert.equal(await second.stop(), 0);
    assert.equal((await positions.findOne({}))?.epoch, undefined);
    assert.deepEqual((await topics.distinct("_id", { _id: { $in: ids } })).toSorted(), ids);
    for (const { log } of [first, second]) assert.ok(!log.some(isAboutLog));
  });

  it("is waited for while it ends before the position, until a new record proves that it is a new one", async () => {
    const { settings, topics, positions, createTopic, deleteTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    await first.stop();
    await deleteTopic();
    await createTopic();
    const second = await startTopicsync(settings);
    await until("the warning is logged", () =>
      second.log.some(({ msg }) => msg?.includes("the log ends before it") === true),
    );
    await second.ready();
    assert.deepEqual(
      (await positions.find({}).toArray()).map(({ next_offset, epoch }) => [next_offset, epoch]),
      [[10, undefined]],
    );
    await announce(100, 103);
    await reached(3);
    assert.equal(await topics.countDocuments(), 13);
    assert.equal((await positions.findOne({}))?.epoch, 2);
    assert.equal(await second.stop(), 0);
  });
});

const isAboutLog = ({ msg = "" }: { msg?: string }): boolean => /the log|out of range/.test(msg);

const odd = (id: string) => ({ key: id, value: JSON.stringify(definition(id)) });

describe("a database that is not what it was", () => {
  it("is caught up from where an older copy of it stands", async () => {
    const { settings, db, topics, positions, createTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    const copies = await Promise.all(
      (await db.collections()).map(async (one) => [one, await one.find().toArray()] as const),
    );
    await announce(5, 8, "Changed");
    await announce(10, 20);
    await reached(23);
    await first.stop();
    const after = await topics.find().sort({ topic_id: 1 }).toArray();
    for (const [collection, records] of copies) {
      await collection.deleteMany({});
      if (records.length > 0) await collection.insertMany(records);
    }
    assert.equal((await positions.findOne({}))?.next_offset, 10);
    const second = await startTopicsync(settings);
    await reached(23);
    const again = await topics.find().sort({ topic_id: 1 }).toArray();
    const plain = (records: typeof after) =>
      records.map(({ topic_id, topic_name }) => [topic_id, topic_name]);
    assert.deepEqual(plain(again), plain(after));
    assert.equal(await second.stop(), 0);
  });

  for (const [title, lose] of [
    ["its positions are lost", (positions) => positions.deleteMany({})],
    [
      "they are set back to the beginning",
      (positions) => positions.updateMany({}, { $set: { next_offset: 0 } }),
    ],
    ["the group is a new one", undefined],
  ] as [string, ((positions: Collection<PositionRecord>) => Promise<unknown>) | undefined][]) {
    it(`writes nothing but positions when ${title}`, async () => {
      const { settings, db, topics, positions, createTopic, send, retired, reached } = scene();
      await createTopic();
      const define = (externalId: string, name: string) => ({ externalId, name });
      await send(
        define("a", "one"),
        define("b", "two"),
        define("c", "one"), // rejected: a has it
        define("a", "three"),
        define("d", "four"),
        "d", // retired
        define("e", "five"),
        define("f", "five"), // rejected: e has it, but only until the next
        "e",
        define("b", "six"),
      );
      const first = await startTopicsync(settings);
      await reached(10);
      await first.stop();
      const before = [await topics.find().toArray(), await retired.find().toArray()];
      assert.deepEqual((await topics.distinct("topic_id")).toSorted(), ["a", "b"]);

      await lose?.(positions);
      const written = new Map<string, number>();
      const changes = db.watch();
      changes.on("change", (change: ChangeStreamDocument) => {
        const coll = "ns" in change && "coll" in change.ns ? change.ns.coll : change.operationType;
        written.set(coll, (written.get(coll) ?? 0) + 1);
      });
      const group = lose === undefined ? { KAFKA_GROUP_ID: unique("group") } : {};
      const second = await startTopicsync({ ...settings, ...group });
      await second.ready();
      await send(define("z", "last"));
      await until("the next one is stored", () => topics.findOne({ topic_id: "z" }));
      await until("its change is seen", () => written.has(topicsName));
      await changes.close();
      const rest = await topics.find({ topic_id: { $ne: "z" } }).toArray();
      assert.deepEqual([rest, await retired.find().toArray()], before);
      assert.deepEqual([...written.keys()].toSorted(), [topicsName, "topicsync_positions"]);
      assert.equal(written.get(topicsName), 1);
      assert.equal(await second.stop(), 0);
    });
  }
});
