import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import kafkajs from "kafkajs";
import type { ChangeStreamDocument, Collection } from "mongodb";

import { createBroker } from "@topicsync/kafka/client";
import { createLogger } from "@topicsync/lib/logger";
import { readConfig } from "../../../src/config/config.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, stage, type PositionRecord, type Scene } from "../../support/scene.ts";

const topicsName = "svc_api_notif_mgmt_topic";
const { stack, kafka, admin, producer, scene } = stage();
const log = await createLogger("silent");

async function countRecords(records: AsyncIterable<unknown>): Promise<number> {
  const iterator = records[Symbol.asyncIterator]();
  let length = 0;
  while (!(await iterator.next()).done) length += 1;
  return length;
}

/** Sets the pause of the broker's log cleaner, in milliseconds; 15 s by default. */
async function setCleanerPause(value: string): Promise<void> {
  const { controller } = await admin.describeCluster();
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.BROKER,
        name: String(controller),
        configEntries: [{ name: "log.cleaner.backoff.ms", value }],
      },
    ],
  });
}

/**
 * Waits until the number of records left by compaction meets `isEnough`; calls `meanwhile` before each count.
 */
async function waitForCompaction(
  { settings, topic }: Scene,
  isEnough: (records: number) => boolean,
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const { signal } = new AbortController();
  const broker = createBroker({ ...readConfig(settings).kafka, brokers: [stack.kafka] }, log);
  await broker.reach(signal);
  await until("the log is compacted", async () => {
    await meanwhile?.();
    return isEnough(await countRecords(broker.read(topic, { abort: signal })));
  });
  await broker.close();
}

/** A scene with ten topics, stored by a service that has stopped. */
async function createSceneWithTopics(): Promise<Scene> {
  const at = scene();
  await at.createTopic();
  await at.announce(0, 10);
  const service = await at.start();
  await at.stored(10);
  await service.stop();
  return at;
}

const toMessage = (id: string) => ({ key: id, value: JSON.stringify(definition(id)) });
const isAboutLog = ({ msg = "" }: { msg?: string }): boolean => /the log|out of range/.test(msg);

describe("a log that changed", () => {
  before(async () => {
    await setCleanerPause("500");
  });
  after(async () => {
    await setCleanerPause("15000");
  });

  it("is read from its beginning if it was recreated, even if it is longer than before", async () => {
    const { topics, positions, key, recreateTopic, announce, start, reached } = await createSceneWithTopics();
    await recreateTopic();
    await announce(100, 130);
    const second = await start();
    await reached(30);
    assert.equal(await topics.countDocuments(), 40);
    assert.equal((await positions.findOne({ _id: key }))?.epoch, 2);
    assert.equal(await second.stop(), 0);
  });

  it("is read from its first record if unread records were deleted", async () => {
    const { topic, announce, start, stored, reached } = await createSceneWithTopics();
    await announce(10, 30);
    // Deleting records needs the leader, which the client learns here.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "20" }] });
    const second = await start();
    await stored(20);
    await reached(30);
    assert.ok(second.log.some(({ msg }) => msg?.includes("deleted before they were read")));
    assert.equal(await second.stop(), 0);
  });

  it("refills an empty database after compaction", async () => {
    const at = scene();
    const { topics, positions, createTopic, start, announce, retire, inStep } = at;
    await createTopic(1, {
      "cleanup.policy": "compact",
      "segment.ms": "100",
      "min.cleanable.dirty.ratio": "0.01",
      "max.compaction.lag.ms": "100",
    });
    for (const name of ["One", "Two", "Three"]) await announce(0, 50, name);
    await retire(40, 50);
    const first = await start();
    await inStep();
    await first.stop();

    // Only closed segments are compacted; a later record closes them.
    await waitForCompaction(
      at,
      (records) => records < 100,
      () => announce(50, 51),
    );
    await Promise.all([topics.deleteMany({}), positions.deleteMany({})]);
    const second = await start();
    await inStep();
    assert.equal(await second.stop(), 0);
  });

  it("is read beyond a segment of which compaction left only an empty batch", async () => {
    const at = scene();
    const { topic, topics, createTopic, start, announce, reached } = at;
    await createTopic(1, {
      "cleanup.policy": "compact",
      "segment.bytes": String(1024 * 1024),
      "min.cleanable.dirty.ratio": "0.01",
      "max.compaction.lag.ms": "100",
    });
    // Compaction keeps the last batch of an idempotent producer without its records. A segment holds one
    // batch.
    const messages = [{ key: "large", value: Buffer.alloc(600 * 1024) }];
    const idempotent = kafka.producer({ idempotent: true });
    await idempotent.connect();
    await idempotent.send({ topic, messages });
    await idempotent.disconnect();
    for (let sent = 0; sent < 3; sent += 1) await producer.send({ topic, messages });
    await announce(0, 1);
    // The active segment may begin with the last large record or with the announcement.
    await waitForCompaction(at, (records) => records <= 3);
    const service = await start();
    await reached(5);
    assert.deepEqual(await topics.distinct("topic_id"), ["id-0"]);
    assert.equal(await service.stop(), 0);
  });

  it("is still the same log after the markers of transactions, committed and aborted", async () => {
    const { topic, topics, positions, key, createTopic, start, announce, send, reached } = scene();
    await createTopic();
    const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
    await transactional.connect();
    const produce = async (id: string, end: "commit" | "abort"): Promise<void> => {
      const transaction = await transactional.transaction();
      await transaction.send({ topic, messages: [toMessage(id)] });
      await transaction[end]();
    };
    await send(definition("a"), "a", definition("a"));
    await produce("b", "commit");
    await produce("c", "abort");
    const first = await start();
    await reached(7);
    const ids = (await topics.distinct("_id")).toSorted();
    await announce(0, 1);
    await reached(8);
    await produce("d", "commit");
    await reached(10);
    await produce("e", "abort");
    // No record is delivered, but the position advances, so there is no lag.
    await reached(12);
    await announce(1, 2);
    await reached(13);
    await produce("f", "commit");
    await transactional.disconnect();
    await reached(15);
    assert.equal(await first.stop(), 0);
    const second = await start();
    await announce(2, 3);
    await reached(16);
    assert.equal(await second.stop(), 0);

    assert.equal((await positions.findOne({ _id: key }))?.epoch, undefined);
    const stored = (await topics.distinct("topic_id")).toSorted();
    assert.deepEqual(stored, ["a", "b", "d", "f", "id-0", "id-1", "id-2"]);
    const kept = await topics.distinct("_id", { topic_id: { $in: ["a", "b"] } });
    assert.deepEqual(kept.toSorted(), ids);
    for (const { log } of [first, second]) assert.ok(!log.some(isAboutLog));
  });

  it("is still the same log after timestamps that are not in milliseconds", async () => {
    const { topic, topics, positions, key, createTopic, start, announce, reached } = scene();
    await createTopic(1, { "message.timestamp.after.max.ms": "9223372036854775807" });
    await announce(0, 2);
    for (const timestamp of ["1732000000000000", "1732000000000000000"])
      await producer.send({ topic, messages: [{ ...toMessage(timestamp), timestamp }] });
    const first = await start();
    await reached(4);
    const ids = (await topics.distinct("_id")).toSorted();
    await announce(2, 3);
    await reached(5);
    assert.equal(await first.stop(), 0);
    const second = await start();
    await announce(3, 4);
    await reached(6);
    assert.equal(await second.stop(), 0);
    assert.equal((await positions.findOne({ _id: key }))?.epoch, undefined);
    assert.deepEqual((await topics.distinct("_id", { _id: { $in: ids } })).toSorted(), ids);
    for (const { log } of [first, second]) assert.ok(!log.some(isAboutLog));
  });

  it("is known to be a new one before it has a record", async () => {
    const { topics, positions, key, recreateTopic, announce, start, reached } = await createSceneWithTopics();
    await recreateTopic();
    const second = await start();
    await until("the warning is logged", () =>
      second.log.some(({ msg }) => msg?.includes("the log is a new one") === true),
    );
    await announce(100, 103);
    await reached(3);
    assert.equal(await topics.countDocuments(), 13);
    assert.equal((await positions.findOne({ _id: key }))?.epoch, 2);
    assert.equal(await second.stop(), 0);
  });
});

describe("a database that changed", () => {
  it("catches up from the positions of an older copy", async () => {
    const { db, topics, positions, key, createTopic, start, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await start();
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
    assert.equal((await positions.findOne({ _id: key }))?.next_offset, 10);
    const second = await start();
    await reached(23);
    const again = await topics.find().sort({ topic_id: 1 }).toArray();
    const plain = (records: typeof after) =>
      records.map(({ topic_id, topic_name }) => [topic_id, topic_name]);
    assert.deepEqual(plain(again), plain(after));
    assert.equal(await second.stop(), 0);
  });

  it("is filled by the whole log again if a person sets the position to 0", async () => {
    const { topics, positions, createTopic, start, send, reached } = scene();
    await createTopic();
    const define = (externalId: string, name: string) => ({ externalId, name });
    // The second one is rejected: it has the combination of the first.
    await send(define("a", "one"), define("c", "one"), define("a", "three"));
    const first = await start();
    await reached(3);
    await first.stop();
    assert.equal(await topics.countDocuments({ topic_id: "c" }), 0);
    await positions.updateMany({}, { $set: { next_offset: 0 } });
    const second = await start();
    await until("the log is read again", () => topics.findOne({ topic_id: "c" }));
    assert.equal(await second.stop(), 0);
  });

  for (const [title, lose] of [
    ["the positions are lost", (positions) => positions.deleteMany({})],
    ["the group is new", undefined],
  ] as [string, ((positions: Collection<PositionRecord>) => Promise<unknown>) | undefined][]) {
    it(`is not changed except for positions if ${title}`, async () => {
      const { db, topics, positions, createTopic, start, send, retired, reached } = scene();
      await createTopic();
      const define = (externalId: string, name: string) => ({ externalId, name });
      await send(
        define("a", "one"),
        define("b", "two"),
        define("c", "one"), // rejected: the combination of a
        define("a", "three"),
        define("d", "four"),
        "d", // retired
        define("e", "five"),
        define("f", "five"), // rejected: the combination of e, which is retired afterwards
        "e",
        define("b", "six"),
      );
      const first = await start();
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
      const second = await start(group);
      await send(define("z", "last"));
      await until("the topic is stored", () => topics.findOne({ topic_id: "z" }));
      await until("its change is seen", () => written.has(topicsName));
      await changes.close();
      const rest = await topics.find({ topic_id: { $ne: "z" } }).toArray();
      assert.deepEqual([rest, await retired.find().toArray()], before);
      // Announcements that are rejected again are copies of their dead letters.
      written.delete("topicsync_dead_letters");
      // Each start tries there whether writes can be repeated.
      written.delete("topicsync_meta");
      assert.deepEqual([...written.keys()].toSorted(), [topicsName, "topicsync_logs", "topicsync_positions"]);
      assert.equal(written.get(topicsName), 1);
      assert.equal(await second.stop(), 0);
    });
  }
});
