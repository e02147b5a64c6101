import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createTopicUsageStore } from "../../../../src/storage/topics/usage.ts";
import { selectUnused } from "../../../../src/topics/usage.ts";
import type { Topic } from "../../../../src/topics/topic.ts";
import type { TopicRecord } from "../../../../src/storage/topics/records.ts";
import { createTopicRecord } from "../../../support/topic-record.ts";
import { connectDatabase } from "../../../support/database.ts";

const { db, database, connect } = await connectDatabase();
const store = createTopicUsageStore(database);
const records = db.collection<{ _id: string }>("topicsync_topic_usage");
const atDay = (day: number): Date => new Date(day * 24 * 60 * 60_000 + 1_000);

const findEvents = async (externalId: string) => (await store.find([externalId])).get(externalId)?.events;

describe("the stored usage of topics", () => {
  it("adds what instances count at the same time, also of new topics", async () => {
    const others = await Promise.all([1, 2, 3, 4].map(async () => createTopicUsageStore(await connect())));
    const counts = Array.from({ length: 300 }, (_, n) => ({ externalId: `topic ${n}`, matches: n + 1 }));
    await Promise.all(others.map((one, n) => one.add(n % 2 === 0 ? counts : counts.toReversed(), atDay(9))));
    const found = await store.find(counts.map(({ externalId }) => externalId));
    assert.equal(found.size, 300);
    for (const { externalId, matches } of counts) {
      assert.deepEqual(found.get(externalId), { lastOn: atDay(9), events: 4 * matches });
    }
  });

  it("keeps hostile external ids as they are", async () => {
    const ids = ["$inc", "a.b", ".", "", "\0", "__proto__", "constructor", "_id", "€".repeat(1_000), "{}"];
    for (let round = 0; round < 2; round += 1)
      await store.add(
        ids.map((externalId, at) => ({ externalId, matches: at + 1 })),
        atDay(1),
      );
    for (const [at, externalId] of ids.entries())
      assert.equal(await findEvents(externalId), 2 * (at + 1), externalId);
    assert.equal((await store.find(ids)).size, ids.length);
  });

  it("keeps the latest time, also if an instance's clock is behind", async () => {
    await store.add([{ externalId: "old", matches: 1 }], atDay(500));
    await store.add([{ externalId: "old", matches: 2 }], atDay(499));
    assert.deepEqual((await store.find(["old"])).get("old"), { lastOn: atDay(500), events: 3 });
  });

  it("begins again for another topic that has the external id", async () => {
    const topics = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");
    const store2 = createTopicUsageStore(await connect());
    const add = async (day: number) => {
      await store.add([{ externalId: "given", matches: day }], atDay(day));
      return (await store.find(["given"])).get("given");
    };
    // Counted by an earlier release.
    await records.insertOne({ _id: "given", last_on: atDay(10), days: { 10: 10 } } as { _id: string });
    const [first, second] = [
      createTopicRecord({ externalId: "given" }),
      createTopicRecord({ externalId: "given" }),
    ];
    await topics.insertOne(first);
    assert.deepEqual(await add(11), { topicId: first._id, lastOn: atDay(11), events: 11 });
    await topics.deleteOne({ _id: first._id });
    // Its last events may be stored after it is gone.
    assert.deepEqual(await add(12), { topicId: first._id, lastOn: atDay(12), events: 23 });
    await topics.insertOne(second);
    assert.deepEqual(await add(13), { topicId: second._id, lastOn: atDay(13), events: 13 });
    await store2.add([{ externalId: "given", matches: 1 }], atDay(13));
    assert.equal(await findEvents("given"), 14);
  });

  it("knows when events were counted", async () => {
    assert.equal(await store.findCounting(), undefined);
    await store.noteCounting({ since: atDay(5), until: atDay(6) });
    await store.noteCounting({ since: atDay(4), until: atDay(5) });
    await store.noteCounting({ since: atDay(6), until: atDay(8) });
    assert.deepEqual(await store.findCounting(), { since: atDay(4), until: atDay(8) });
  });

  it("tells unused topics only for times in which events were counted", async () => {
    const today = Math.floor(Date.now() / 86_400_000);
    const topic = (externalId: string, createdOn: Date): { topic: Topic } => ({
      topic: {
        ...{ externalId, name: externalId, namespace: "", headerQuery: "", contentQuery: "" },
        ...{
          id: externalId,
          version: 1,
          source: { kind: "http", user: "ann" },
          createdOn,
          updatedOn: createdOn,
        },
      },
    });
    await store.add([{ externalId: "used", matches: 1 }], atDay(today - 3));
    await store.add([{ externalId: "used long ago", matches: 1 }], atDay(today - 12));
    const topics = [
      topic("used", atDay(0)),
      topic("used long ago", atDay(0)),
      topic("never used", atDay(0)),
      topic("new", atDay(today - 9)),
    ];
    const select = async (duration: string) =>
      (await (await selectUnused(store, duration)).select(topics)).map((one) => one.topic.externalId);
    await records.deleteMany({ _id: { $type: "object" } } as object);
    assert.deepEqual(await select("10d"), []);
    await store.noteCounting({ since: atDay(today - 20), until: atDay(today) });
    assert.deepEqual(await select("10d"), ["used long ago", "never used"]);
    assert.deepEqual(await select("1h"), ["used", "used long ago", "never used", "new"]);
    assert.deepEqual(await select("21d"), []);
  });
});
