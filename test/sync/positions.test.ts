import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { MongoClient, type ChangeStreamDocument, type Collection } from "mongodb";

import { unique } from "../support/names.ts";
import { until } from "../support/poll.ts";
import { ownNames, startTopicsync } from "../support/service.ts";
import { sharedStack, testDatabase, testKafka } from "../support/stack.ts";

const topicsName = "svc_api_notif_mgmt_topic";
const retiredName = "svc_api_notif_mgmt_topic_retired";

interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  next_offset?: number;
  log?: number;
  session?: unknown;
}

const stack = sharedStack();
const { kafka, admin, producer } = testKafka(stack.kafka);

before(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
});

/** A database and Kafka topics of a test's own. */
function scene() {
  const { uri, db } = testDatabase(stack.mongodb);
  const names = ownNames();
  const topic = names["KAFKA_ANNOUNCEMENTS_TOPIC"] ?? "";
  const topics = db.collection<{ topic_id: string; topic_name: string; source: unknown }>(topicsName);
  const positions = db.collection<PositionRecord>("topicsync_positions");
  const createTopic = async (): Promise<void> => {
    await until("the topic is created", () => admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }));
  };
  return {
    settings: { ...names, MONGODB_URI: uri, KAFKA_BROKERS: stack.kafka },
    uri,
    db,
    topic,
    topics,
    positions,
    createTopic,
    key: { group: names["KAFKA_GROUP_ID"] ?? "", topic, partition: 0 },
    /** Sends definitions, and tombstones for external ids. */
    send: (...sent: (string | { externalId: string; name: string })[]) =>
      producer.send({
        topic,
        messages: sent.map((one) =>
          typeof one === "string"
            ? { key: one, value: null }
            : { key: one.externalId, value: JSON.stringify(one) },
        ),
      }),
    announce: (from: number, to: number, name = "Topic") =>
      producer.send({
        topic,
        messages: Array.from({ length: to - from }, (_, i) => ({
          key: `id-${from + i}`,
          value: JSON.stringify({ externalId: `id-${from + i}`, name: `${name} ${from + i}` }),
        })),
      }),
    stored: (count: number, limitMs?: number) =>
      until(`${count} are stored`, async () => (await topics.countDocuments()) === count, limitMs),
    reached: (offset: number) =>
      until(`the position is ${offset}`, async () => (await positions.findOne({}))?.next_offset === offset),
  };
}

describe("the stored position", () => {
  it("is where a restarted service goes on, whatever Kafka was told", async () => {
    const { settings, topic, topics, createTopic, announce, stored, reached, key } = scene();
    await createTopic();
    await announce(0, 100);
    const first = await startTopicsync(settings);
    await stored(100);
    await first.stop();
    // Were Kafka's offset the truth, the ones before it would not be read again.
    await topics.deleteMany({});
    await admin.setOffsets({ groupId: key.group, topic, partitions: [{ partition: 0, offset: "0" }] });
    await announce(100, 110);
    const second = await startTopicsync(settings);
    await reached(110);
    assert.equal(await topics.countDocuments(), 10);
    assert.equal(await second.stop(), 0);
  });

  it("fills a database again that was emptied under the running service", async () => {
    const { settings, topics, positions, createTopic, announce, stored } = scene();
    await createTopic();
    await announce(0, 100);
    const service = await startTopicsync(settings);
    await stored(100);
    await Promise.all([topics.deleteMany({}), positions.deleteMany({})]);
    await announce(100, 101);
    await stored(101);
    assert.equal(await service.stop(), 0);
  });

  it("fences a consumer that lost the partition without knowing it", async () => {
    const { settings, positions, createTopic, announce, stored } = scene();
    await createTopic();
    await announce(0, 10);
    const service = await startTopicsync(settings);
    await stored(10);
    // As another consumer would have moved it on.
    await announce(10, 12);
    await stored(12);
    await positions.updateOne({}, { $set: { next_offset: 15 } });
    await announce(12, 20);
    await stored(17);
    assert.ok(service.log.some(({ msg }) => msg?.includes("looking it up again")));
    assert.equal(await service.stop(), 0);
  });

  it("begins anew with a log that was made anew, and takes its definitions for the later ones", async () => {
    const { settings, topic, topics, positions, createTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 50);
    const first = await startTopicsync(settings);
    await stored(50);
    await first.stop();
    await admin.deleteTopics({ topics: [topic] });
    await createTopic();
    await announce(40, 45, "Renamed");
    const second = await startTopicsync(settings);
    await reached(5);
    const names = await topics.distinct("topic_name");
    assert.equal(names.filter((name) => name.startsWith("Renamed")).length, 5);
    assert.equal((await positions.findOne({}))?.log, 2);
    assert.ok(second.log.some(({ msg }) => msg?.includes("made anew")));
    assert.equal(await second.stop(), 0);
  });

  it("begins anew with a log that was made anew and has outgrown the old one", async () => {
    const { settings, topic, topics, positions, createTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    await first.stop();
    await admin.deleteTopics({ topics: [topic] });
    await createTopic();
    await announce(100, 130);
    const second = await startTopicsync(settings);
    await reached(30);
    assert.equal(await topics.countDocuments(), 40);
    assert.equal((await positions.findOne({}))?.log, 2);
    assert.equal(await second.stop(), 0);
  });

  it("goes behind the marker that ends a producer's transaction, so that no lag remains", async () => {
    const { settings, topic, createTopic, stored, reached } = scene();
    await createTopic();
    const transactional = kafka.producer({ transactionalId: unique("transaction"), idempotent: true });
    await transactional.connect();
    const transaction = await transactional.transaction();
    await transaction.send({ topic, messages: [{ key: "a", value: '{"externalId":"a","name":"a"}' }] });
    await transaction.commit();
    const aborted = await transactional.transaction();
    await aborted.send({ topic, messages: [{ key: "b", value: '{"externalId":"b","name":"b"}' }] });
    await aborted.abort();
    await transactional.disconnect();
    const service = await startTopicsync(settings);
    await stored(1);
    const [end] = await admin.fetchTopicOffsets(topic);
    assert.equal(end?.high, "4");
    await reached(4);
    assert.equal(await service.stop(), 0);
  });

  it("goes on where the log begins now, when records before it were deleted unread", async () => {
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

  it("of an older copy of the database is where it is caught up from", async () => {
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
    ["is lost", (positions) => positions.deleteMany({})],
    ["is set back to the beginning", (positions) => positions.updateMany({}, { $set: { next_offset: 0 } })],
    ["belongs to a new group", undefined],
  ] as [string, ((positions: Collection<PositionRecord>) => Promise<unknown>) | undefined][]) {
    it(`that ${title} over a full collection writes nothing but positions`, async () => {
      const { settings, db, topics, positions, createTopic, send, reached } = scene();
      await createTopic();
      const define = (externalId: string, name: string) => ({ externalId, name });
      await send(
        define("a", "one"),
        define("b", "two"),
        define("c", "one"), // refused: a has it
        define("a", "three"),
        define("d", "four"),
        "d", // retired
        define("e", "five"),
        define("f", "five"), // refused: e has it, but only until the next
        "e",
        define("b", "six"),
      );
      const first = await startTopicsync(settings);
      await reached(10);
      await first.stop();
      const retired = db.collection<{ _id: string }>(retiredName);
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

  it("is not held by a transaction that a killed consumer left open", async (t) => {
    const { settings, uri, positions, topics, createTopic, announce, stored, key } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await startTopicsync(settings);
    await stored(10);
    await first.stop();

    const client = new MongoClient(uri);
    t.after(() => client.close());
    const session = client.startSession();
    const id = session.id?.id;
    assert.ok(id);
    await positions.updateOne({ _id: key }, { $set: { session: id } });
    session.startTransaction();
    const open = client.db();
    await open.collection("svc_api_notif_mgmt_topic").insertOne({ topic_id: "id-10" }, { session });
    await open.collection("topicsync_positions").updateOne({}, { $set: { next_offset: 11 } }, { session });

    await announce(10, 20);
    const second = await startTopicsync(settings);
    // Long before the server would give the transaction up by itself, after a minute.
    await stored(20, 25_000);
    assert.equal((await topics.findOne({ topic_id: "id-10" }))?.topic_name, "Topic 10");
    assert.equal(await second.stop(), 0);
  });
});
