import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import type { Database } from "../../../../src/storage/database/database.ts";
import { createTopicStore } from "../../../../src/storage/topics/topics.ts";
import type { DefinitionChange } from "../../../../src/topics/definition-change.ts";
import { ChangesRejectedError } from "../../../../src/topics/changing.ts";
import { changeTopic } from "../../../../src/topics/changing.ts";
import { createTopicService } from "../../../../src/topics/service.ts";
import type { TopicStore } from "../../../../src/topics/stores.ts";
import { allowAll } from "../../../support/allow-all.ts";
import { applyAnnouncements } from "../../../support/apply-batch.ts";
import { connectProxiedDatabase, repeatWithoutLimit } from "../../../support/database.ts";
import { mongoErrors } from "../../../support/mongo-faults.ts";
import { unique } from "../../../support/names.ts";
import { createDefinition } from "../../topics/model.ts";

const { db, database, proxy, log } = await connectProxiedDatabase();
repeatWithoutLimit();
const topics = db.collection("svc_api_notif_mgmt_topic");
const retired = db.collection("svc_api_notif_mgmt_topic_retired");
const versions = db.collection<{ _id: string }>("topicsync_topic_versions");
const withoutTransactions: Database = { ...database, startSession: () => undefined };

const change = (externalId: string, version: number, name: string, as = externalId): DefinitionChange => ({
  kind: "change",
  externalId,
  expected: { version },
  definition: createDefinition(as, name),
});
const user = "ann";

async function announce(store: TopicStore, externalId: string, name = externalId, offset = 0) {
  const key = { group: unique("group"), topic: unique("channel"), partition: 0 };
  await store.claim(key);
  return applyAnnouncements({
    store,
    key,
    from: undefined,
    to: { offset: offset + 1, epoch: 1 },
    announcements: [{ kind: "define", offset, definition: createDefinition(externalId, name) }],
  });
}

const listTopics = async (): Promise<unknown[]> =>
  (await topics.find().sort({ topic_id: 1 }).toArray()).map((one): unknown[] => [
    one["topic_id"],
    one["topic_name"],
    one["version"] ?? 1,
  ]);
const listVersions = async (): Promise<unknown[]> =>
  (await versions.find().sort({ topic_id: 1, version: 1 }).toArray()).map((one: Document): unknown[] => [
    one["topic_id"],
    one["topic_name"],
    one["version"],
    one["action"],
  ]);

for (const [what, opened] of [
  ["with transactions", database],
  ["without transactions", withoutTransactions],
] as const) {
  const store = createTopicStore(opened, log, { historyRetentionDays: undefined });
  const service = createTopicService(store);
  const changing = (changed: Partial<TopicStore>) => createTopicService({ ...store, ...changed });

  describe(`changing topics on a store ${what}`, () => {
    beforeEach(async () => {
      for (const one of [topics, retired, versions]) await one.deleteMany({});
    });

    it("keeps what was replaced, with what replaced it", async () => {
      const { topic } = await service.create({ externalId: "a", name: "a" }, "bob");
      const label = { set: "assurance", revision: "3f2a91c", plan: "7d" };
      const { results } = await service.change([change("a", 1, "x")], { user, check: allowAll, label });
      const changed = results[0]?.topic;
      const { _id, ...kept } = (await versions.findOne({})) ?? {};
      assert.equal(_id, `${topic.id}-1`);
      assert.deepEqual(kept, {
        ...{ sys_id: topic.id, version: 1 },
        ...{ topic_id: "a", topic_name: "a", namespace: "", header_query: "", content_query: "" },
        ...{ source: { kind: "http", user: "bob" }, sys_created_on: topic.createdOn },
        ...{ valid_from: topic.updatedOn, action: "changed" },
        ...{ valid_to: changed?.updatedOn, ended_by: { kind: "http", user, change: label } },
      });
      assert.deepEqual(await listTopics(), [["a", "x", 2]]);
    });

    it("changes a topic without a version, as before there were any: it has version 1", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      assert.equal((await topics.findOne({}))?.["version"], undefined);
      await service.change([change("a", 1, "x")], { user, check: allowAll });
      assert.deepEqual(await listTopics(), [["a", "x", 2]]);
      assert.deepEqual(await listVersions(), [["a", "a", 1, "changed"]]);
    });

    it("replaces a version that the history has already", async () => {
      const { topic } = await service.create({ externalId: "a", name: "a" }, user);
      await versions.insertOne({ _id: `${topic.id}-1` });
      await service.change([change("a", 1, "x")], { user, check: allowAll });
      assert.deepEqual(await listVersions(), [["a", "a", 1, "changed"]]);
    });

    it("exchanges combinations and external ids", async () => {
      for (const id of ["a", "b", "c"]) await service.create({ externalId: id, name: id }, user);
      const ids = new Map((await topics.find().toArray()).map((one) => [one["topic_name"], one._id]));
      await service.change([change("a", 1, "c", "b"), change("b", 1, "a", "c"), change("c", 1, "b", "a")], {
        user,
        check: allowAll,
      });
      assert.deepEqual(await listTopics(), [
        ["a", "b", 2],
        ["b", "c", 2],
        ["c", "a", 2],
      ]);
      assert.deepEqual((await topics.findOne({ topic_id: "b" }))?._id, ids.get("a"));
    });

    it("disables and enables topics, each version once", async () => {
      const { topic } = await service.create({ externalId: "a", name: "a" }, user);
      await service.change([{ kind: "disable", externalId: "a", expected: { version: 1 } }], {
        user,
        check: allowAll,
      });
      assert.deepEqual(await listTopics(), []);
      await service.change([{ kind: "enable", externalId: "a", definition: createDefinition("a", "x") }], {
        user,
        check: allowAll,
      });
      assert.deepEqual(await listTopics(), [["a", "x", 2]]);
      assert.deepEqual((await topics.findOne({}))?._id, topic.id as never);
      await changeTopic(service, { kind: "disable", externalId: "a" }, { user, check: allowAll });
      await changeTopic(service, { kind: "enable", externalId: "a" }, { user: "ann", check: allowAll });
      assert.deepEqual(await listTopics(), [["a", "x", 3]]);
      assert.deepEqual(await listVersions(), []);
      const numbers = (await retired.find().toArray()).map((one): unknown => one["version"] ?? 1);
      assert.deepEqual(numbers.toSorted(), [1, 2]);
    });

    it("does not overwrite what was changed since it was read", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      let interfering: Promise<unknown> | undefined;
      const late = changing({
        async change(writes, further) {
          await (interfering ??= service.change([change("a", 1, "first")], { user: "bob", check: allowAll }));
          return store.change(writes, further);
        },
      });
      await assert.rejects(late.change([change("a", 1, "second")], { user, check: allowAll }), (error) => {
        assert.ok(error instanceof ChangesRejectedError);
        assert.match(error.message, /has the version 2, not 1: the user "bob"/);
        return true;
      });
      assert.deepEqual(await listTopics(), [["a", "first", 2]]);
      assert.deepEqual(await listVersions(), [["a", "a", 1, "changed"]]);
    });

    it("does not overwrite a topic whose version repeats, as after a restored backup", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      let restored: Promise<unknown> | undefined;
      const late = changing({
        async change(writes, further) {
          await (restored ??= topics.updateOne({}, { $set: { topic_name: "restored" } }));
          return store.change(writes, further);
        },
      });
      const expected = { version: 1, definition: createDefinition("a") };
      const definition = createDefinition("a", "x");
      await assert.rejects(
        late.change([{ kind: "change", externalId: "a", expected, definition }], { user, check: allowAll }),
        {
          name: "ChangesRejectedError",
        },
      );
      assert.deepEqual(await listTopics(), [["a", "restored", 1]]);
    });

    it("loses no change that was made while the channel adopts the topic", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      let changed: Promise<unknown> | undefined;
      const meanwhile: TopicStore = {
        ...store,
        async begin(step) {
          const batch = await store.begin(step);
          const write = batch.write.bind(batch);
          batch.write = async (writes) => {
            if (writes.updated.length > 0)
              await (changed ??= service.change([change("a", 1, "x")], { user, check: allowAll }));
            return write(writes);
          };
          return batch;
        },
      };
      const { rejections } = await announce(meanwhile, "a");
      assert.deepEqual(
        rejections.map(({ rejection }) => rejection.code),
        ["EXTERNAL_ID_TAKEN"],
      );
      assert.deepEqual(await listTopics(), [["a", "x", 2]]);
    });

    it("keeps every version of the channel", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      await announce(store, "a", "a", 3);
      await announce(store, "a", "x", 4);
      assert.deepEqual(await listTopics(), [["a", "x", 3]]);
      assert.deepEqual(await listVersions(), [
        ["a", "a", 1, "adopted"],
        ["a", "a", 2, "changed"],
      ]);
    });

    it("deletes versions only where a number of days was given", async () => {
      const limited = createTopicService(createTopicStore(opened, log, { historyRetentionDays: 2 }));
      await service.create({ externalId: "a", name: "a" }, user);
      await service.change([change("a", 1, "x")], { user, check: allowAll });
      await limited.change([change("a", 2, "y")], { user, check: allowAll });
      const [unlimited, expiring]: Document[] = await versions.find().sort({ version: 1 }).toArray();
      assert.equal(unlimited?.["expires_on"], undefined);
      const days = (Number(expiring?.["expires_on"]) - Number(expiring?.["valid_to"])) / 86_400_000;
      assert.equal(days, 2);
    });

    it("counts what is stored already as unchanged", async () => {
      await service.create({ externalId: "a", name: "a" }, user);
      const changes = [change("a", 1, "x", "b")];
      const first = await service.change(changes, { user, check: allowAll });
      const second = await service.change(changes, { user, check: allowAll });
      assert.deepEqual(
        [first, second].map(({ results, events }) => [results[0]?.outcome, events.length]),
        [
          ["renamed", 1],
          ["unchanged", 0],
        ],
      );
      assert.deepEqual(await listTopics(), [["b", "x", 2]]);
    });
  });
}

describe("changing topics at once", () => {
  const store = createTopicStore(database, log, { historyRetentionDays: undefined });
  const service = createTopicService(store);
  const marks = db.collection(unique("marks"));

  beforeEach(async () => {
    for (const one of [topics, retired, versions, marks]) await one.deleteMany({});
    for (const id of ["a", "b"]) await service.create({ externalId: id, name: id }, user);
    await marks.insertOne({ count: 0 });
  });

  const both = [change("a", 1, "x"), change("b", 1, "y")];

  it("stores all of it or nothing, with the writes of other stores", async () => {
    const failing = service.change(both, {
      user,
      check: allowAll,
      async further({ session }) {
        assert.ok(session !== undefined);
        await database
          .collection(marks.collectionName as never)
          .updateOne({}, { $inc: { count: 1 } }, { session: session as never });
        throw new Error("the further writes fail");
      },
    });
    await assert.rejects(failing, /further writes fail/);
    assert.deepEqual(await listTopics(), [
      ["a", "a", 1],
      ["b", "b", 1],
    ]);
    assert.deepEqual(await listVersions(), []);
    assert.equal((await marks.findOne({}))?.["count"], 0);
  });

  it("makes either all changes or none when two callers overlap", async () => {
    for (let round = 0; round < 10; round += 1) {
      const version = Number((await topics.findOne({ topic_id: "a" }))?.["version"] ?? 1);
      const [first, second] = await Promise.allSettled([
        service.change([change("a", version, `a ${round}`), change("b", version, `b ${round}`)], {
          user,
          check: allowAll,
        }),
        service.change([change("b", version, `d ${round}`), change("a", version, `c ${round}`)], {
          user,
          check: allowAll,
        }),
      ]);
      assert.deepEqual(new Set([first.status, second.status]), new Set(["fulfilled", "rejected"]));
      const names = (await topics.distinct("topic_name")).toSorted();
      assert.deepEqual(
        names,
        first.status === "fulfilled" ? [`a ${round}`, `b ${round}`] : [`c ${round}`, `d ${round}`],
      );
    }
    assert.equal((await listVersions()).length, 20);
  });

  it("acknowledges what is stored although the response to the commit is lost", async () => {
    proxy.fail({
      ...{ command: "commitTransaction", executed: true, times: 2 },
      answer: mongoErrors.writeConcernTimeout,
    });
    const { results } = await service.change(both, { user, check: allowAll });
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["changed", "changed"],
    );
    assert.deepEqual(await listTopics(), [
      ["a", "x", 2],
      ["b", "y", 2],
    ]);
  });
});
