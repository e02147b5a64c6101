import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createTopicIndex } from "../../../src/matching/topic-index.ts";
import type { RoutedEvent } from "../../../src/routing/plan.ts";
import { startUsageRecorder } from "../../../src/routing/usage-recorder.ts";
import { createTopicUsageStore } from "../../../src/storage/topic-usage.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { until } from "../../support/poll.ts";

const { database, proxy, log } = await connectProxiedDatabase();
const usage = createTopicUsageStore(database);

const toEvent = (topics: readonly string[]): RoutedEvent => ({
  record: { offset: 0, timestamp: "0", key: null, value: null, headers: {} },
  id: "id",
  topics,
  isUnmatched: false,
});

const createIndex = (externalIds: readonly string[]) => {
  const index = createTopicIndex(log);
  for (const externalId of externalIds)
    index.set({ externalId, namespace: "", headerQuery: "", contentQuery: `id=${externalId}` });
  return {
    ...index,
    count(externalId: string, matches = 1): void {
      index.count(externalId, matches);
    },
  };
};

async function sum(externalIds: readonly string[]): Promise<number> {
  const found = await usage.find(externalIds);
  const counts = [...found.values()].flatMap(({ days }) => [...days.values()]);
  return counts.reduce((total, count) => total + count, 0);
}

describe("the recorder of usage", () => {
  it("stores counts at intervals, and those that could not be stored with the next ones", async () => {
    const ids = ["a", "b", "c"];
    const recorder = startUsageRecorder({ index: createIndex(ids), usage, log, intervalMs: 20 });
    recorder.count({ events: [toEvent(["a", "b", "gone"]), toEvent(["a"])] });
    await until("the counts are stored", async () => (await sum(ids)) === 3);
    proxy.fail({
      ...{ command: "update", collection: "topicsync_topic_usage", executed: false, times: 3 },
      answer: { ok: 0, code: 50, codeName: "MaxTimeMSExpired", errmsg: "too slow" },
    });
    recorder.count({ events: [toEvent(["a", "c"])] });
    await until("they are stored as well", async () => (await sum(ids)) === 5);
    recorder.count({ events: [toEvent(["b"])] });
    await recorder.stop();
    assert.equal(await sum(ids), 6);
    assert.equal(await sum(["gone"]), 0);
  });

  it("stores more topics than it writes at a time, at the end without a pause", async () => {
    const ids = Array.from({ length: 2_500 }, (_, n) => `many ${n}`);
    const index = createIndex(ids);
    const recorder = startUsageRecorder({ index, usage, log });
    recorder.count({ events: [toEvent(ids), toEvent(ids.slice(0, 10))] });
    await recorder.stop();
    // A slow store takes longer than a stop waits.
    await until("all are stored", async () => (await sum(ids)) === 2_510, 30_000);
  });
});

describe("the counts of an index", () => {
  it("stay when a topic changes, and go with it", () => {
    const index = createIndex(["a", "b", "c"]);
    const set = (externalId: string, contentQuery: string): void => {
      index.set({ externalId, namespace: "", headerQuery: "", contentQuery });
    };
    set("all", "");
    for (const id of ["a", "b", "c", "all", "all", "a"]) index.count(id);
    set("a", "other=1");
    set("b", "");
    set("all", "x=1");
    index.delete("c");
    set("new", "id=new");
    const take = () => [...index.takeCounts()].map(({ externalId, matches }) => `${externalId} ${matches}`);
    assert.deepEqual(take().toSorted(), ["a 2", "all 2", "b 1"]);
    assert.deepEqual(take(), []);
  });
});
