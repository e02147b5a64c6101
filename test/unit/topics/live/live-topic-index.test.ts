import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { pino } from "pino";

import { NotLoadedError } from "@topicsync/lib/errors";
import type { TopicRecord } from "../../../../src/storage/topics/records.ts";
import { createTopicStore } from "../../../../src/storage/topics/topics.ts";
import { changeTopic } from "../../../../src/topics/changing.ts";
import { createTopicService } from "../../../../src/topics/service.ts";
import { getPort } from "../../../support/local.ts";
import { allowAll } from "../../../support/allow-all.ts";
import { applyAnnouncements } from "../../../support/apply-batch.ts";
import {
  createBody,
  waitUntilPicked,
  connectIndex,
  pickExternalIds,
  type IndexInstance,
} from "../../../support/live-topic-index.ts";
import { startMongoProxy } from "../../../support/mongo-faults.ts";
import { until } from "../../../support/poll.ts";
import { definition } from "../../../support/scene.ts";
import { sharedStack, testDatabase } from "../../../support/stack.ts";
import { createTopicRecord } from "../../../support/topic-record.ts";

const log = pino({ level: "silent" });
const { uri, db } = testDatabase();
const records = db.collection<TopicRecord>("svc_api_notif_mgmt_topic");

describe("the live index of topics", () => {
  let here: IndexInstance;
  let there: IndexInstance;

  before(async () => {
    [here, there] = await Promise.all([connectIndex(uri), connectIndex(uri)]);
    await here.service.create(createBody("early", "a=1"), "user");
    await records.insertOne(createTopicRecord({ externalId: "unreadable", contentQuery: "a=1=1" }));
  });
  after(async () => {
    await Promise.all([here.close(), there.close()]);
  });

  it("loads the stored topics at the first pick, which waits for them", async () => {
    assert.deepEqual(here.index.status(), {
      mode: "idle",
      topics: 0,
      unconditional: 0,
      unreadable: 0,
      topicsRead: undefined,
    });
    assert.deepEqual(await Promise.all([pickExternalIds(here, 1), pickExternalIds(here, 1)]), [
      ["early"],
      ["early"],
    ]);
    assert.deepEqual(here.index.status(), {
      mode: "live",
      topics: 1,
      unconditional: 0,
      unreadable: 1,
      topicsRead: undefined,
    });
    assert.deepEqual(await pickExternalIds(there, 1), ["early"]);
  });

  it("reports that the topics are not loaded yet, and picks once they are", async () => {
    const proxy = await startMongoProxy(getPort(sharedStack().mongodb));
    const one = await connectIndex(proxy.uri(db.databaseName));
    try {
      proxy.freeze();
      await assert.rejects(pickExternalIds(one, 1), NotLoadedError);
      proxy.heal();
      await until("they are loaded", () => one.index.status().topics > 0);
      assert.deepEqual(await pickExternalIds(one, 1), ["early"]);
    } finally {
      await one.close();
    }
  });

  it("rejects waiting picks when it is closed", async () => {
    const proxy = await startMongoProxy(getPort(sharedStack().mongodb));
    const one = await connectIndex(proxy.uri(db.databaseName));
    proxy.cut();
    const asked = assert.rejects(pickExternalIds(one, 1), NotLoadedError);
    await one.index.close();
    await asked;
    await one.database.close();
  });

  it("sees writes of its own process immediately, and those of others soon", async () => {
    await here.service.create(createBody("later", "a=1,2"), "user");
    assert.deepEqual(await pickExternalIds(here, 2), ["later"]);
    assert.deepEqual(await pickExternalIds(here, 1), ["early", "later"]);
    await waitUntilPicked(there, 2, ["later"]);
  });

  it("follows manual changes", async () => {
    await records.updateOne({ topic_id: "later" }, { $set: { content_query: "a=3" } });
    for (const one of [here, there]) {
      await waitUntilPicked(one, 3, ["later"]);
      assert.deepEqual(await pickExternalIds(one, 2), []);
    }
    await records.updateOne({ topic_id: "unreadable" }, { $set: { content_query: "a=4" } });
    await waitUntilPicked(here, 4, ["unreadable"]);
    assert.equal(here.index.status().unreadable, 0);
  });

  it("follows announcements: created, updated, retired", async () => {
    const key = { group: "g", topic: "t", partition: 0 };
    const { service, database } = here;
    const store = createTopicStore(database, log, { historyRetentionDays: undefined });
    const apply = async (offset: number, contentQuery: string | undefined): Promise<void> => {
      const from = await store.claim(key);
      await applyAnnouncements({
        store,
        topics: service,
        changed: here.index.changed,
        key,
        from,
        to: { offset: offset + 1, epoch: 1 },
        announcements: [
          contentQuery === undefined
            ? { kind: "retire", offset, externalId: "channel" }
            : {
                kind: "define",
                offset,
                definition: { ...definition("channel"), headerQuery: "", contentQuery },
              },
        ],
      });
    };
    await apply(0, "a=7");
    assert.deepEqual(await pickExternalIds(here, 7), ["channel"]);
    await waitUntilPicked(there, 7, ["channel"]);
    await apply(1, "a=8");
    assert.deepEqual(await pickExternalIds(here, 7), []);
    assert.deepEqual(await pickExternalIds(here, 8), ["channel"]);
    await waitUntilPicked(there, 8, ["channel"]);
    await apply(2, undefined);
    assert.deepEqual(await pickExternalIds(here, 8), []);
    await until(
      "both have the same number of topics",
      () => there.index.status().topics === here.index.status().topics,
    );
    assert.deepEqual(await pickExternalIds(there, 8), []);
  });

  it("follows topics that another process disables and enables", async () => {
    // The index of this process does not learn of the changes.
    const untold = createTopicService(
      createTopicStore(there.database, log, { historyRetentionDays: undefined }),
    );
    await there.service.create(createBody("switched", "a=9"), "user");
    await waitUntilPicked(here, 9, ["switched"]);
    await changeTopic(untold, { kind: "disable", externalId: "switched" }, { user: "user", check: allowAll });
    await waitUntilPicked(here, 9, []);
    await changeTopic(untold, { kind: "enable", externalId: "switched" }, { user: "ann", check: allowAll });
    await waitUntilPicked(here, 9, ["switched"]);
  });
});
