import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MongoClient } from "mongodb";

import { stage } from "../../../test/support/scene.ts";

const { admin, scene } = stage();

describe("the stored position", () => {
  it("is where a restarted service continues, regardless of the offset committed to Kafka", async () => {
    const { topic, topics, createTopic, start, announce, stored, reached, key } = scene();
    await createTopic();
    await announce(0, 100);
    const first = await start();
    await stored(100);
    await first.stop();
    // If the offset in Kafka counted, earlier records would not be read again.
    await topics.deleteMany({});
    await admin.setOffsets({ groupId: key.group, topic, partitions: [{ partition: 0, offset: "0" }] });
    await announce(100, 110);
    const second = await start();
    await reached(110);
    assert.equal(await topics.countDocuments(), 10);
    assert.equal(await second.stop(), 0);
  });

  it("refills a database that was emptied under the running service", async () => {
    const { topics, positions, createTopic, start, announce, stored } = scene();
    await createTopic();
    await announce(0, 100);
    const service = await start();
    await stored(100);
    await Promise.all([topics.deleteMany({}), positions.deleteMany({})]);
    await announce(100, 101);
    await stored(101);
    assert.equal(await service.stop(), 0);
  });

  it("fences a consumer that lost the partition without knowing it", async () => {
    const { positions, key, createTopic, start, announce, stored } = scene();
    await createTopic();
    await announce(0, 10);
    const service = await start();
    await stored(10);
    // Advances the position like another consumer.
    await announce(10, 12);
    await stored(12);
    await positions.updateOne({ _id: key }, { $set: { next_offset: 15 } });
    await announce(12, 20);
    await stored(17);
    assert.ok(service.log.some(({ msg }) => msg?.includes("looking it up again")));
    assert.equal(await service.stop(), 0);
  });

  it("starts over with a recreated log, whose definitions count as later", async () => {
    const { topics, positions, key, createTopic, start, recreateTopic, announce, stored, reached } = scene();
    await createTopic();
    await announce(0, 50);
    const first = await start();
    await stored(50);
    await first.stop();
    await recreateTopic();
    await announce(40, 45, "Renamed");
    const second = await start();
    await reached(5);
    const names = await topics.distinct("topic_name");
    assert.equal(names.filter((name) => name.startsWith("Renamed")).length, 5);
    assert.equal((await positions.findOne({ _id: key }))?.epoch, 2);
    assert.ok(second.log.some(({ msg }) => msg?.includes("the log is a new one")));
    assert.equal(await second.stop(), 0);
  });

  it("is not blocked by a transaction that a killed consumer left open", async (t) => {
    const { uri, positions, topics, createTopic, start, announce, stored, key } = scene();
    await createTopic();
    await announce(0, 10);
    const first = await start();
    await stored(10);
    await first.stop();

    const client = new MongoClient(uri);
    t.after(() => client.close());
    const session = client.startSession();
    const id = session.id?.id;
    assert.ok(id);
    await positions.updateOne({ _id: key }, { $set: { sessions: [id] } });
    session.startTransaction();
    const open = client.db();
    await open.collection("svc_api_notif_mgmt_topic").insertOne({ topic_id: "id-10" }, { session });
    await open.collection("topicsync_positions").updateOne({}, { $set: { next_offset: 11 } }, { session });

    await announce(10, 20);
    const second = await start();
    // The server itself would abort the transaction after a minute.
    await stored(20);
    assert.equal((await topics.findOne({ topic_id: "id-10" }))?.topic_name, "Topic id-10");
    assert.equal(await second.stop(), 0);
  });
});
