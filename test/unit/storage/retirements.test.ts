/** A topic that was retired any number of times. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import { collections } from "../../../src/storage/names.ts";
import { createTopicHistory } from "../../../src/storage/topics/history.ts";
import { createTopicReader } from "../../../src/storage/topics/reader.ts";
import { toRetiredId, toRetiredRecord, type RetiredRecord } from "../../../src/storage/topics/records.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { changeTopic } from "../../../src/topics/changing.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import type { RetiredTopic } from "../../../src/topics/topic.ts";
import { allowAll } from "../../support/allow-all.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { listHistory } from "../../support/history-lines.ts";
import { unique } from "../../support/names.ts";
import { createDefinition } from "../topics/model.ts";

const sent: Document[] = [];
const { db, database, log } = await connectProxiedDatabase({
  onCommand: (command) => void sent.push(command),
});
const retired = db.collection<RetiredRecord>(collections.retiredTopics);
const history = createTopicHistory(database);
const retentionDays = 3;
const msPerDay = 24 * 60 * 60 * 1_000;
let time = Date.UTC(2026, 0, 1);
const store = createTopicStore(database, log, { historyRetentionDays: retentionDays });
const topics = createTopicService(store, { now: () => new Date(time) });

const findSent = (name: string, collection: string): Document[] =>
  sent.filter((command) => command[name] === collection);

beforeEach(async () => {
  for (const name of [collections.topics, collections.retiredTopics, collections.topicVersions])
    await db.collection(name).deleteMany({});
  sent.length = 0;
});

describe("the retirements of a topic", () => {
  /** Five topics of one external id each were retired at the same time. */
  const records = Array.from({ length: 60 }, (_, i): RetiredRecord => {
    const second = (seconds: number): Date => new Date(Date.UTC(2025, 0, 1) + seconds * 1_000);
    const retirement: RetiredTopic = {
      topic: {
        ...createDefinition("a", `name ${i}`),
        ...{
          id: String((i * 7) % 60).padStart(32, "0"),
          version: 1 + (i % 2),
          source: { kind: "http", user: "ann" },
        },
        ...{ createdOn: second(0), updatedOn: second(Math.floor(i / 5) * 2) },
      },
      retiredOn: second(Math.floor(i / 5) * 2 + 1),
      retiredBy: { kind: "announcement", topic: "channel", partition: 0, offset: i },
    };
    return { _id: toRetiredId(retirement), ...toRetiredRecord(retirement) };
  });

  it("are never read all at once, whatever is looked up", async () => {
    await retired.insertMany(records);
    const last = await createTopicReader(database).find("a");
    assert.ok(last !== undefined);
    assert.equal(last.retired?.retiredOn.getTime(), records.at(-1)?.retired_on.getTime());
    assert.equal((await store.findLatestRetired(["a", "b", "a"])).length, 1);
    assert.equal(
      (await history.readVersions("a", { namespaces: "all", after: undefined, limit: 3 })).length,
      3,
    );
    assert.ok((await history.findVersion("a", last.topic.version)) !== undefined);
    const at = new Date(records[0]?.sys_updated_on ?? 0);
    assert.equal((await history.findAt("a", at))?.topic.updatedOn.getTime(), at.getTime());
    assert.equal(await history.findAt("a", new Date(at.getTime() + 1_500)), undefined);
    const finds = findSent("find", collections.retiredTopics);
    assert.ok(finds.length > 8);
    for (const { limit } of finds) assert.ok(limit <= 4, `${limit}`);
  });

  for (const limit of [100, 7, 1])
    it(`are each listed once in pages of ${limit}`, async () => {
      await retired.insertMany(records);
      const lines = (await listHistory(history, "a", limit)).map((line) =>
        line.replace(/^a name (\d+) .*/, "$1"),
      );
      assert.deepEqual(
        lines.map(Number).toSorted((one, other) => one - other),
        records.map((_, i) => i),
      );
    });
});

describe("a retirement", () => {
  const findExpiries = async (externalId: string): Promise<(number | undefined)[]> =>
    (await retired.find({ topic_id: externalId }, { sort: { retired_on: 1 } }).toArray()).map(
      ({ expires_on }) => expires_on?.getTime(),
    );
  const expiry = (): number => time + retentionDays * msPerDay;

  it("expires once the topic is active again, and the last one of another topic never", async () => {
    await topics.create({ externalId: "a", name: "a" }, "ann");
    time += 1_000;
    await changeTopic(topics, { kind: "disable", externalId: "a" }, { user: "ann", check: allowAll });
    assert.deepEqual(await findExpiries("a"), [undefined]);
    time += 1_000;
    await changeTopic(topics, { kind: "enable", externalId: "a" }, { user: "ann", check: allowAll });
    const first = expiry();
    assert.deepEqual(await findExpiries("a"), [first]);
    time += 1_000;
    await changeTopic(topics, { kind: "disable", externalId: "a" }, { user: "ann", check: allowAll });
    assert.deepEqual(await findExpiries("a"), [first, undefined]);
    time += 1_000;
    await topics.create({ externalId: "a", name: "another" }, "ann");
    assert.deepEqual(await findExpiries("a"), [first, expiry()]);
  });

  it("expires when the channel announces the topic again, and not before", async () => {
    const key = { group: unique("group"), topic: unique("channel"), partition: 0 };
    await store.claim(key);
    const sentNames = ["first", undefined, "second", undefined];
    for (const [offset, name] of sentNames.entries()) {
      time += 1_000;
      const announcement =
        name === undefined
          ? ({ kind: "retire", offset, externalId: "b" } as const)
          : ({ kind: "define", offset, definition: createDefinition("b", name) } as const);
      const from = offset === 0 ? undefined : { offset, epoch: 1 };
      const to = { offset: offset + 1, epoch: 1 };
      await applyAnnouncements({ store, topics, key, from, to, announcements: [announcement] });
    }
    const first = expiry() - 1_000;
    assert.deepEqual(await findExpiries("b"), [first, undefined]);
    time += 1_000;
    const announcements = [
      { kind: "define" as const, offset: 4, definition: createDefinition("b", "third") },
    ];
    const [from, to] = [
      { offset: 4, epoch: 1 },
      { offset: 5, epoch: 1 },
    ];
    await applyAnnouncements({ store, topics, key, from, to, announcements });
    assert.deepEqual(await findExpiries("b"), [first, expiry()]);
  });
});

it("a page of the topics at a time reads no list beyond the end of the first full one", async () => {
  for (const externalId of ["a", "b", "c", "d"]) await topics.create({ externalId, name: externalId }, "ann");
  sent.length = 0;
  const page = await history.readAt(new Date(time), { namespaces: "all" }, { after: undefined, limit: 2 });
  assert.deepEqual(
    page.versions.map(({ topic }) => topic.externalId),
    ["a", "b"],
  );
  for (const collection of [collections.topicVersions, collections.retiredTopics]) {
    const [{ filter } = {}] = findSent("find", collection);
    assert.deepEqual(filter.$and[0], { topic_id: { $lte: "b" } });
  }
});
