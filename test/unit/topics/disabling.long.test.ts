import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { RejectionError } from "@topicsync/lib/errors";
import type { Database } from "../../../src/storage/database/database.ts";
import { createTopicReader } from "../../../src/storage/topics/reader.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import type { TopicStore } from "../../../src/topics/stores.ts";
import { changeTopic } from "../../../src/topics/changing.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { allowAll } from "../../support/allow-all.ts";
import { connectDatabase, repeatWithoutLimit } from "../../support/database.ts";
import { applyAnnouncements } from "../../support/apply-batch.ts";
import { unique } from "../../support/names.ts";
import { createDefinition } from "./model.ts";

const { db, database, log } = await connectDatabase();
repeatWithoutLimit();
const topics = db.collection("svc_api_notif_mgmt_topic");
const retiredTopics = db.collection("svc_api_notif_mgmt_topic_retired");

const store = createTopicStore(database, log, { historyRetentionDays: undefined });
const service = createTopicService(store);
const createBody = (externalId: string, name = externalId) => ({ externalId, name });

/** Applies announcements of a new channel, like the consumer. */
async function announce(
  announcements: readonly ({ define: string } | { retire: string })[],
  into: TopicStore = store,
) {
  const key = { group: unique("group"), topic: unique("channel"), partition: 0 };
  await store.claim(key);
  return applyAnnouncements({
    store: into,
    key,
    from: undefined,
    to: { offset: announcements.length, epoch: 1 },
    announcements: announcements.map((one, offset) =>
      "define" in one
        ? { kind: "define", offset, definition: createDefinition(one.define) }
        : { kind: "retire", offset, externalId: one.retire },
    ),
  });
}

/** The same store without transactions. */
const withoutTransactions: Database = { ...database, startSession: () => undefined };

for (const [what, opened] of [
  ["with transactions", database],
  ["without transactions", withoutTransactions],
] as const) {
  const own = createTopicStore(opened, log, { historyRetentionDays: undefined });
  const createService = (changed: Partial<TopicStore> = {}) => {
    const topics = createTopicService({ ...own, ...changed });
    return {
      ...topics,
      disable: (externalId: string, user: string) =>
        changeTopic(topics, { kind: "disable", externalId }, { user, check: allowAll }),
      enable: (externalId: string, user: string) =>
        changeTopic(topics, { kind: "enable", externalId }, { user, check: allowAll }),
    };
  };
  const listDisabledIds = async (): Promise<string[]> => {
    const order = { sort: "retired", descending: true } as const;
    const found = await createTopicReader(opened).readSorted(
      { state: "disabled", namespaces: "all" },
      { order, after: undefined, limit: 1_000 },
    );
    return found.map(({ topic }) => topic.externalId).toSorted();
  };
  const countRecords = async (externalId: string) => {
    const filter = { topic_id: externalId };
    return [await topics.countDocuments(filter), await retiredTopics.countDocuments(filter)];
  };

  describe(`disabling and enabling topics on a store ${what}`, () => {
    beforeEach(async () => {
      await topics.deleteMany({});
      await retiredTopics.deleteMany({});
    });

    it("disables a topic once under concurrent calls", async () => {
      await service.create(createBody("a"), "ann");
      const done = await Promise.all(
        Array.from({ length: 8 }, (_, n) => createService().disable("a", `user ${n}`)),
      );
      assert.equal(done.filter(({ changed }) => changed).length, 1);
      assert.deepEqual(await countRecords("a"), [0, 1]);
    });

    it("finds a topic that is disabled concurrently", async () => {
      await service.create(createBody("a"), "ann");
      const slow: Partial<TopicStore> = {
        async findByExternalIds(ids) {
          await createService().disable("a", "ann");
          return store.findByExternalIds(ids);
        },
      };
      assert.equal((await createService(slow).disable("a", "bob")).changed, false);
    });

    it("enables a topic that was concurrently enabled and disabled", async () => {
      await service.create(createBody("a"), "ann");
      await createService().disable("a", "ann");
      let answers = 0;
      const meanwhile: Partial<TopicStore> = {
        async change(writes) {
          if (answers === 1) await createService().enable("a", "ann");
          return own.change(writes);
        },
        async findByExternalIds(ids) {
          answers += 1;
          // After the write was rejected: without transactions, by a unique index.
          if (answers === 2) await createService().disable("a", "ann");
          return store.findByExternalIds(ids);
        },
      };
      assert.equal((await createService(meanwhile).enable("a", "ann")).changed, true);
      assert.deepEqual(await countRecords("a"), [1, 2]);
    });

    it("enables a topic once under concurrent calls, with its sys_id", async () => {
      const { topic } = await service.create(createBody("a"), "ann");
      const { id } = topic;
      await createService().disable("a", "ann");
      const done = await Promise.all(Array.from({ length: 8 }, () => createService().enable("a", "ann")));
      assert.equal(done.filter(({ changed }) => changed).length, 1);
      assert.deepEqual(new Set(done.map(({ topic }) => topic.id)), new Set([id]));
      assert.equal(await topics.countDocuments(), 1);
    });

    it("enables the topic that was disabled last", async () => {
      const { topic: first } = await service.create(createBody("a", "first"), "ann");
      await createService().disable("a", "ann");
      const { topic: second } = await service.create(createBody("a", "second"), "ann");
      await assert.rejects(createService().enable("a", "ann"), {
        name: "RejectionError",
        code: "DUPLICATE_EXTERNAL_ID",
      });
      await createService().disable("a", "ann");
      assert.equal((await createService().enable("a", "ann")).topic.id, second.id);
      assert.notEqual(first.id, second.id);
      const disabled = await listDisabledIds();
      assert.deepEqual(disabled, []);
    });

    it("leaves a topic that was enabled and renamed alone", async () => {
      await service.create(createBody("a"), "ann");
      await createService().disable("a", "ann");
      const { topic } = await createService().enable("a", "ann");
      const definition = { ...createDefinition("b"), name: "a" };
      await changeTopic(
        createService(),
        { kind: "change", externalId: "a", definition },
        { user: "ann", check: allowAll },
      );

      const unknown = { name: "UnknownTopicError" };
      await assert.rejects(createService().disable("a", "ann"), unknown);
      await assert.rejects(createService().enable("a", "ann"), unknown);
      assert.equal(await createTopicReader(opened).find("a"), undefined);
      assert.deepEqual(await listDisabledIds(), []);

      const { topic: other } = await service.create(createBody("a", "other"), "bob");
      const again = await createService().enable("a", "ann");
      assert.deepEqual([again.changed, again.topic.id], [false, other.id]);
      assert.notEqual(other.id, topic.id);
    });

    it("enables a topic that was disabled again by a clock that is behind", async () => {
      await service.create(createBody("a"), "ann");
      await createService().disable("a", "ann");
      await createService().enable("a", "ann");
      const behind = createTopicService(own, { now: () => new Date(0) });
      await changeTopic(behind, { kind: "disable", externalId: "a" }, { user: "ann", check: allowAll });
      assert.deepEqual(await listDisabledIds(), ["a"]);
      assert.equal((await createService().enable("a", "ann")).changed, true);
    });

    it("leaves one holder of a combination when one is enabled while another is created", async () => {
      for (let round = 0; round < 10; round += 1) {
        await service.create(createBody(`old-${round}`, `name ${round}`), "ann");
        await createService().disable(`old-${round}`, "ann");
        const [enabled, created] = await Promise.allSettled([
          createService().enable(`old-${round}`, "ann"),
          service.create(createBody(`new-${round}`, `name ${round}`), "ann"),
        ]);
        const rejected = [enabled, created].flatMap((one) =>
          one.status === "rejected" ? [one.reason as unknown] : [],
        );
        assert.equal(rejected.length, 1);
        assert.ok(rejected[0] instanceof RejectionError && rejected[0].code === "DUPLICATE_COMBINATION");
        assert.equal(await topics.countDocuments({ topic_name: `name ${round}` }), 1);
      }
    });

    it("does not disable a topic that the channel adopts in the meantime", async () => {
      await service.create(createBody("a"), "ann");
      let adopted: Promise<unknown> | undefined;
      const late: Partial<TopicStore> = {
        async change(writes) {
          await (adopted ??= announce([{ define: "a" }]));
          return own.change(writes);
        },
      };
      await assert.rejects(createService(late).disable("a", "ann"), {
        code: "EXTERNAL_ID_TAKEN",
      });
      assert.deepEqual(await countRecords("a"), [1, 0]);
    });

    it("loses no announcement of a topic that is disabled while it is adopted", async () => {
      const { topic } = await service.create(createBody("a"), "ann");
      const { id } = topic;
      await service.create(createBody("b"), "ann");
      let disabled: Promise<unknown> | undefined;
      const meanwhile: TopicStore = {
        ...store,
        async begin(step) {
          const batch = await store.begin(step);
          const write = batch.write.bind(batch);
          batch.write = async (writes) => {
            // The first decision, without look-ups, violates a unique index; the topic is disabled before the
            // second.
            if (writes.updated.length > 0) await (disabled ??= createService().disable("a", "ann"));
            return write(writes);
          };
          return batch;
        },
      };
      const { counts: outcomes } = await announce([{ define: "a" }, { define: "b" }], meanwhile);
      assert.deepEqual([outcomes.adopted, outcomes.created], [1, 1]);
      const record = await topics.findOne({ topic_id: "a" });
      assert.equal(record?.["source"].kind, "announcement");
      assert.notEqual(String(record["_id"]), id);
      await assert.rejects(createService().enable("a", "ann"), { code: "DUPLICATE_EXTERNAL_ID" });
    });

    it("rejects topics that the channel announced or retired", async () => {
      await announce([{ define: "a" }]);
      await assert.rejects(createService().disable("a", "ann"), { code: "EXTERNAL_ID_TAKEN" });
      assert.equal((await createService().enable("a", "ann")).changed, false);
      await announce([{ retire: "a" }]);
      await assert.rejects(createService().enable("a", "ann"), { code: "EXTERNAL_ID_TAKEN" });
      assert.equal((await createService().disable("a", "ann")).changed, false);
      assert.deepEqual(await countRecords("a"), [0, 1]);
    });

    it("does not enable a topic with an invalid filter", async () => {
      await service.create(createBody("a"), "ann");
      await topics.updateOne({ topic_id: "a" }, { $set: { header_query: "a=1=1" } });
      await createService().disable("a", "ann");
      await assert.rejects(createService().enable("a", "ann"), { code: "BAD_FILTER" });
    });

    it("lists each disabled topic once, page by page", async () => {
      const ids = Array.from({ length: 120 }, (_, n) => `t-${String(n).padStart(3, "0")}`);
      for (let at = 0; at < ids.length; at += 40) {
        const some = ids.slice(at, at + 40);
        await Promise.all(some.map((id) => service.create(createBody(id), "ann")));
        await Promise.all(some.map((id) => createService().disable(id, "ann")));
      }
      for (const id of ids.slice(0, 5)) {
        await createService().enable(id, "ann");
        await createService().disable(id, "bob");
      }
      await createService().enable("t-100", "ann");
      await announce([{ define: "t-101" }]);
      await announce([{ define: "t-102" }]);
      await announce([{ retire: "t-102" }]);
      const disabled = await listDisabledIds();
      assert.deepEqual(
        disabled,
        ids.filter((id) => !["t-100", "t-101", "t-102"].includes(id)),
      );
    });
  });
}
