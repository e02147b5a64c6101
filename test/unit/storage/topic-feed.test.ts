import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it, type TestContext } from "node:test";

import type { Document } from "mongodb";
import { pino } from "pino";

import { indexes } from "../../../src/storage/indexes.ts";
import { newId } from "../../../src/lib/sys-id.ts";
import { portOf } from "../embedded/local.ts";
import { body, untilPicked, connectIndex, picked } from "../../support/live-topic-index.ts";
import { startMongoProxy, type MongoFault } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

type StoredDocument = Document & { _id: string };

const store = sharedStack().mongodb;

/** A index behind a proxy, another beside it, and what the first logged and sent. */
async function scene(t: TestContext) {
  const { uri, db } = testDatabase(store);
  const sent: Document[] = [];
  const proxy = await startMongoProxy(portOf(store), { onCommand: (command) => void sent.push(command) });
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const [here, there] = await Promise.all([connectIndex(proxy.uri(db.databaseName), log), connectIndex(uri)]);
  t.after(() => Promise.all([here.close(), there.close()]));
  await there.service.create(body("early", "a=1"), "user");
  return {
    db,
    proxy,
    here,
    there,
    fail: (fault: Pick<MongoFault, "command" | "answer" | "times">) => {
      proxy.fail({ carriedOut: false, ...fault });
    },
    sent: (name: string) => sent.filter((command) => name in command),
    logged: (words: string) => lines.filter((line) => line.includes(words)).length,
  };
}

const loadedAgain = "topics must be loaded again";
const loaded = "topics loaded";
const polling = "no change streams";
const standalone = {
  ...{ ok: 0, code: 40573, codeName: "Location40573" },
  errmsg: "The $changeStream stage is only supported on replica sets",
};

describe("the feed of stored topics", () => {
  it("says that a change stream failed for good, so that the topics are loaded and followed again", async (t) => {
    const { proxy, here, there, fail, logged } = await scene(t);
    const adding = t.mock.method(EventTarget.prototype, "addEventListener");
    here.index.start();
    await untilPicked(here, 1, ["early"]);
    const targets = new Set(adding.mock.calls.map((call) => call.this as EventTarget));
    const listeners = (): number =>
      [...targets].flatMap((target) => getEventListeners(target, "abort")).length;
    const once = listeners();
    const answer = { ok: 0, code: 286, codeName: "ChangeStreamHistoryLost", errmsg: "the oplog rolled over" };
    fail({ command: "getMore", answer, times: 2 });
    await until("both streams failed", () => proxy.pending() === 0);
    await there.service.create(body("later", "a=2"), "user");
    await untilPicked(here, 2, ["later"]);
    assert.ok(logged(loadedAgain) > 0);
    assert.equal(logged(polling), 0);
    await until("the topics are loaded again", () => logged(loaded) === logged(loadedAgain) + 1);
    assert.equal(listeners(), once, "listeners of the streams that were lost");
  });

  it("follows again when a stream could not be opened for a passing reason, and closes the other", async (t) => {
    const { here, there, fail, sent, logged } = await scene(t);
    const answer = { ok: 0, code: 133, codeName: "FailedToSatisfyReadPreference", errmsg: "no primary" };
    fail({ command: "aggregate", answer, times: 1 });
    here.index.start();
    await untilPicked(here, 1, ["early"]);
    assert.equal(logged(loadedAgain), 1);
    assert.equal(logged(polling), 0);
    assert.equal(sent("aggregate").length, 4);
    // MongoDB refuses a change stream with any other level that is named.
    for (const { readConcern } of sent("aggregate")) assert.equal(readConcern?.level, "majority");
    assert.equal(sent("killCursors").length, 1);
    await there.service.create(body("later", "a=2"), "user");
    await untilPicked(here, 2, ["later"]);
  });

  it("looks for changes of others from time to time where there are no change streams", async (t) => {
    const { db, here, there, fail, sent, logged } = await scene(t);
    fail({ command: "aggregate", answer: standalone, times: 2 });
    here.index.start();
    await untilPicked(here, 1, ["early"]);
    assert.equal(logged(polling), 1);
    await there.service.create(body("polled", "a=2"), "user");
    // What a long transaction decided long ago, and committed only now.
    const decidedOn = new Date(Date.now() - 80_000);
    const late = {
      topic_id: "late",
      topic_name: "late",
      namespace: "",
      header_query: "",
      content_query: "a=3",
    };
    const topics = db.collection<StoredDocument>("svc_api_notif_mgmt_topic");
    const retired = db.collection<StoredDocument>("svc_api_notif_mgmt_topic_retired");
    await topics.insertOne({ _id: newId(), ...late, sys_updated_on: decidedOn });
    await topics.deleteOne({ topic_id: "early" });
    const early = { topic_id: "early", retired_by: { kind: "announcement" }, retired_on: decidedOn };
    await retired.insertOne({ _id: "t-0-1", ...early });
    await untilPicked(here, 2, ["polled"]);
    assert.deepEqual(await picked(here, 3), ["late"]);
    assert.deepEqual(await picked(here, 1), []);
    const byTime = indexes.find(({ name }) => name === "retired_by_time");
    const [asked] = sent("find").filter(({ find }) => find === byTime?.collection);
    assert.deepEqual(Object.keys(asked?.["filter"]), Object.keys(byTime?.key ?? {}).slice(0, 2));
  });

  const refusals = {
    "an unknown stage": { code: 40324, errmsg: "Unrecognized pipeline stage name: $changeStream" },
    "a user who may not": { code: 13, errmsg: "not authorized on topicsync to execute command aggregate" },
    "change streams that nobody enabled": { code: 1, errmsg: "Change streams are not enabled" },
  };
  for (const [title, refusal] of Object.entries(refusals)) {
    it(`looks from time to time as well where the answer is ${title}`, async (t) => {
      const { here, fail, logged } = await scene(t);
      fail({ command: "aggregate", answer: { ok: 0, ...refusal }, times: 2 });
      here.index.start();
      await untilPicked(here, 1, ["early"]);
      assert.equal(logged(polling), 1);
    });
  }

  it("is left in peace once the index is closed, also right after a change", async (t) => {
    const { here, there } = await scene(t);
    here.index.start();
    await untilPicked(here, 1, ["early"]);
    await there.service.create(body("later", "a=2"), "user");
    await until("the change is known", () => here.index.status().topics === 2);
    await here.index.close();
    const closedOn = Date.now();
    // A second after a change it is looked at once more.
    await until("that moment is over", () => Date.now() > closedOn + 1_100);
  });
});
