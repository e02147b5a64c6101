import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it, type TestContext } from "node:test";

import { ObjectId, type Document } from "mongodb";
import { pino } from "pino";

import { replacePlatform } from "@topicsync/lib/platform";
import { secondReadDelayMs } from "../../../../src/topics/live/own-writes.ts";
import { indexes } from "../../../../src/storage/indexes.ts";
import { getPort } from "../../../support/local.ts";
import { allowAll } from "../../../support/allow-all.ts";
import {
  createBody,
  waitUntilPicked,
  connectIndex,
  pickExternalIds,
} from "../../../support/live-topic-index.ts";
import { dialects, omit, type Dialect } from "../../../support/mongo-dialects.ts";
import { mongoErrors, startMongoProxy, type MongoFault } from "../../../support/mongo-faults.ts";
import { until } from "../../../support/poll.ts";
import { sharedStack, testDatabase } from "../../../support/stack.ts";
import { createTopicRecord } from "../../../support/topic-record.ts";

type StoredDocument = Document & { _id: string };

/** An index whose database is behind a proxy, a second index, and the log lines and commands of the first. */
async function createScene(t: TestContext, dialect?: Dialect) {
  const { uri, db } = testDatabase();
  const sent: Document[] = [];
  const proxy = await startMongoProxy(getPort(sharedStack().mongodb), {
    ...(dialect && { dialect }),
    onCommand: (command) => void sent.push(command),
  });
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const [here, there] = await Promise.all([connectIndex(proxy.uri(db.databaseName), log), connectIndex(uri)]);
  t.after(() => Promise.all([here.close(), there.close()]));
  await there.service.create(createBody("early", "a=1"), "user");
  return {
    db,
    proxy,
    here,
    there,
    fail: (fault: Pick<MongoFault, "command" | "answer" | "times">) => {
      proxy.fail({ executed: false, ...fault });
    },
    sent: (name: string) => sent.filter((command) => name in command),
    logged: (words: string) => lines.filter((line) => line.includes(words)).length,
  };
}

const loadedAgain = "topics must be loaded again";
const loaded = "topics loaded";
const polling = "no change streams";
const replaced = "change streams failed three times";
const standalone = {
  ok: 0,
  code: 40573,
  codeName: "Location40573",
  errmsg: "The $changeStream stage is only supported on replica sets",
};

/** Makes the time of the product pass faster. */
function runFast(t: TestContext, factor: number): void {
  const former = replacePlatform({
    now: () => Date.now(),
    elapsed: () => performance.now() * factor,
    schedule(delayMs, action) {
      const timer = setTimeout(action, delayMs / factor);
      return () => {
        clearTimeout(timer);
      };
    },
    scheduleSoon: (action) => former.scheduleSoon(action),
    random: () => former.random(),
    fillRandom: (bytes) => {
      former.fillRandom(bytes);
    },
  });
  t.after(() => replacePlatform(former));
}

describe("the feed of stored topics", () => {
  it("reports the end of a change stream, so that the topics are loaded and followed again", async (t) => {
    const { proxy, here, there, fail, logged } = await createScene(t);
    const adding = t.mock.method(EventTarget.prototype, "addEventListener");
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    const listeners = (): number => {
      const targets = new Set(adding.mock.calls.map((call) => call.this as EventTarget));
      return [...targets].flatMap((target) => getEventListeners(target, "abort")).length;
    };
    const once = listeners();
    const answer = { ok: 0, code: 286, codeName: "ChangeStreamHistoryLost", errmsg: "the oplog rolled over" };
    fail({ command: "getMore", answer, times: 2 });
    await until("both streams failed", () => proxy.pending() === 0);
    await there.service.create(createBody("later", "a=2"), "user");
    await waitUntilPicked(here, 2, ["later"]);
    assert.ok(logged(loadedAgain) > 0);
    assert.equal(logged(polling), 0);
    await until("the topics are loaded again", () => logged(loaded) === logged(loadedAgain) + 1);
    assert.equal(listeners(), once, "listeners of the streams that were lost");
  });

  it("retries if one stream fails to open for a transient reason, and closes the other", async (t) => {
    const { here, there, fail, sent, logged } = await createScene(t);
    const answer = { ok: 0, code: 133, codeName: "FailedToSatisfyReadPreference", errmsg: "no primary" };
    fail({ command: "aggregate", answer, times: 1 });
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    assert.equal(logged(loadedAgain), 1);
    assert.equal(logged(polling), 0);
    assert.equal(sent("aggregate").length, 4);
    // MongoDB rejects a change stream with any other explicit level.
    for (const { readConcern } of sent("aggregate")) assert.equal(readConcern?.level, "majority");
    assert.equal(sent("killCursors").length, 1);
    await there.service.create(createBody("later", "a=2"), "user");
    await waitUntilPicked(here, 2, ["later"]);
  });

  for (const [what, streamFaults] of [
    ["change streams", 0],
    ["polls", 2],
  ] as const)
    it(`follows a topic that is changed and renamed, by ${what}`, async (t) => {
      const { here, there, fail, logged } = await createScene(t);
      if (streamFaults > 0) fail({ command: "aggregate", answer: standalone, times: streamFaults });
      here.index.start();
      await waitUntilPicked(here, 1, ["early"]);
      assert.equal(logged(polling), streamFaults > 0 ? 1 : 0);
      const change = (version: number, from: string, to: string, value: number) =>
        there.service.change(
          [
            {
              ...{ kind: "change", externalId: from, expected: { version } },
              definition: { ...createBody(to, `a=${value}`), namespace: "", headerQuery: "" },
            },
          ],
          { user: "ann", check: allowAll },
        );
      await change(1, "early", "early", 2);
      await waitUntilPicked(here, 2, ["early"]);
      await change(2, "early", "second", 2);
      await change(3, "second", "third", 2);
      await change(4, "third", "third", 3);
      await waitUntilPicked(here, 3, ["third"]);
      for (const one of [here, there]) {
        await waitUntilPicked(one, 2, []);
        assert.equal(one.index.status().topics, 1, "the former external ids are gone");
      }
    });

  it("polls for changes by others without change streams", async (t) => {
    const { db, here, there, fail, sent, logged } = await createScene(t);
    fail({ command: "aggregate", answer: standalone, times: 2 });
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    assert.equal(logged(polling), 1);
    await there.service.create(createBody("polled", "a=2"), "user");
    // A long transaction decided this long ago and commits only now.
    const decidedOn = new Date(Date.now() - 120_000);
    const late = createTopicRecord({ externalId: "late", contentQuery: "a=3" });
    const topics = db.collection<StoredDocument>("svc_api_notif_mgmt_topic");
    const retired = db.collection<StoredDocument>("svc_api_notif_mgmt_topic_retired");
    await topics.insertOne({ ...late, sys_updated_on: decidedOn });
    await topics.deleteOne({ topic_id: "early" });
    const early = { topic_id: "early", retired_by: { kind: "announcement" }, retired_on: decidedOn };
    await retired.insertOne({ _id: "t-0-1", ...early });
    await waitUntilPicked(here, 2, ["polled"]);
    assert.deepEqual(await pickExternalIds(here, 3), ["late"]);
    assert.deepEqual(await pickExternalIds(here, 1), []);
    const byTime = indexes.find(({ name }) => name === "retired_by_time");
    const [asked] = sent("find").filter(({ find }) => find === byTime?.collection);
    assert.deepEqual(Object.keys(asked?.["filter"]), Object.keys(byTime?.key ?? {}).slice(0, 2));
  });

  it("notices while it polls that a topic is removed after its retirement is stored", async (t) => {
    const { db, here, fail, sent } = await createScene(t);
    fail({ command: "aggregate", answer: standalone, times: 2 });
    runFast(t, 20);
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    const retirement = { topic_id: "early", retired_by: { kind: "http" }, retired_on: new Date() };
    await db
      .collection<StoredDocument>("svc_api_notif_mgmt_topic_retired")
      .insertOne({ _id: "early-1", ...retirement });
    const polls = (): number => sent("find").filter(({ filter }) => "retired_on" in Object(filter)).length;
    const before = polls();
    await until("the retirement was found twice", () => polls() > before + 2);
    // By the index alone, as the router does: a picker also looks up what it has picked.
    const pickNow = (): string[] | undefined => here.index.pickNow({ event: { a: 1 } });
    assert.deepEqual(pickNow(), ["early"]);
    await db.collection<StoredDocument>("svc_api_notif_mgmt_topic").deleteOne({ topic_id: "early" });
    await until("the removal is noticed", () => pickNow()?.length === 0);
  });

  const rejections = {
    "an unknown stage": { code: 40324, errmsg: "Unrecognized pipeline stage name: $changeStream" },
    "a user who may not": { code: 13, errmsg: "not authorized on topicsync to execute command aggregate" },
    "change streams that nobody enabled": { code: 1, errmsg: "Change streams are not enabled" },
  };
  for (const [title, rejection] of Object.entries(rejections)) {
    it(`also polls if the response is ${title}`, async (t) => {
      const { here, fail, logged } = await createScene(t);
      fail({ command: "aggregate", answer: { ok: 0, ...rejection }, times: 2 });
      here.index.start();
      await waitUntilPicked(here, 1, ["early"]);
      assert.equal(logged(polling), 1);
    });
  }

  const broken = { ok: 0, code: 8, codeName: "UnknownError", errmsg: "something new" };

  it("polls if change streams cannot be opened three times, and opens them again later", async (t) => {
    runFast(t, 100);
    const { here, there, fail, proxy, sent, logged } = await createScene(t);
    fail({ command: "aggregate", answer: broken, times: 8 });
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    assert.deepEqual([logged(loadedAgain), logged(replaced), sent("aggregate").length], [2, 1, 6]);
    await there.service.create(createBody("polled", "a=2"), "user");
    await waitUntilPicked(here, 2, ["polled"]);
    await until("the streams were tried again", () => proxy.pending() === 0);
    await until("the streams are open", () => logged("change streams opened again") === 1);
    await there.service.create(createBody("streamed", "a=3"), "user");
    await waitUntilPicked(here, 3, ["streamed"]);
    assert.deepEqual([logged(loadedAgain), logged(replaced)], [2, 1]);
  });

  it("polls if change streams end soon after they were opened, three times", async (t) => {
    const { here, fail, logged, proxy } = await createScene(t);
    fail({ command: "getMore", answer: broken, times: 1_000 });
    here.index.start();
    await until("the streams are replaced", () => logged(replaced) === 1);
    proxy.clear();
    await until("the topics are loaded", () => here.index.status().mode === "live");
    assert.deepEqual(await pickExternalIds(here, 1), ["early"]);
  });

  it("waits for an outage to end, and does not poll then", async (t) => {
    const { here, fail, logged } = await createScene(t);
    const answer = mongoErrors.hostUnreachable;
    // The driver repeats the commands that open the two streams.
    fail({ command: "aggregate", answer, times: 4 * 4 });
    fail({ command: "ping", answer, times: 4 });
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    assert.equal(logged(loadedAgain), 4);
    assert.equal(logged(replaced), 0);
  });

  it("loads the topics again from the primary that an election made", async (t) => {
    let electionId = new ObjectId();
    const { here, logged } = await createScene(t, {
      uriOptions: "directConnection=true&heartbeatFrequencyMS=500",
      // Without a topology version the driver polls.
      hello: (hello) => ({ ...omit("topologyVersion")(hello), electionId }),
      hasTransactions: true,
      hasChangeStreams: true,
      rules: [],
    });
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    assert.equal(here.database.getPrimary(), electionId.toHexString());
    assert.equal(logged(loadedAgain), 0);
    electionId = new ObjectId();
    await until("the topics are loaded again", () => logged(loaded) === 2);
    assert.equal(logged("the primary of MongoDB has changed"), 1);
  });

  it("reads only what a majority has where elections are not visible, and changes a second time later", async (t) => {
    const { here, there, sent } = await createScene(t, dialects["a sharded cluster with a member down"]);
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    await there.service.create(createBody("later", "a=2"), "user");
    const getReads = (id: string) => sent("find").filter(({ filter }) => filter.topic_id?.$in?.includes(id));
    await until("the change is read", () => here.index.status().topics === 2);
    await until("it is read again", () => getReads("later").length === 2);
    await until("it is read again once the election must be over", () => getReads("later").length > 2);
    const reads = [...sent("find").filter(({ batchSize }) => batchSize === 1_000), ...getReads("later")];
    assert.ok(reads.length > 3);
    for (const { readConcern } of reads) assert.equal(readConcern?.level, "majority");
  });

  it("is not queried any more once the index is closed, also right after a change", async (t) => {
    const { here, there, sent } = await createScene(t);
    here.index.start();
    await waitUntilPicked(here, 1, ["early"]);
    const timers = t.mock.method(globalThis, "setTimeout");
    await there.service.create(createBody("later", "a=2"), "user");
    await until("the change is known", () => here.index.status().topics === 2);
    await here.index.close();
    const before = sent("find").length;
    // The topic would be read once more a second after its change.
    const late = timers.mock.calls.filter((call) => call.arguments[1] === secondReadDelayMs);
    assert.ok(late.length > 0);
    for (const call of late) call.arguments[0]();
    await here.database.ping();
    assert.equal(sent("find").length, before);
  });
});
