import assert from "node:assert/strict";
import { after, describe, it, mock } from "node:test";

import { createTopicIndex } from "../../../src/topics/live/topic-index.ts";
import { startUsageRecorder } from "../../../src/routing/usage-recorder.ts";
import { createTopicUsageStore } from "../../../src/storage/topics/usage.ts";
import type { CountingSpan, TopicUsageStore } from "../../../src/topics/usage.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { until } from "../../support/poll.ts";

const { database, proxy, log } = await connectProxiedDatabase();
const usage = createTopicUsageStore(database);
const startTimer = setTimeout;

const createIndex = (externalIds: readonly string[]) => {
  const index = createTopicIndex(log);
  for (const externalId of externalIds)
    index.set({ externalId, namespace: "", headerQuery: "", contentQuery: `id=${externalId}` });
  return index;
};

const toLong = (id: string): string => id.padEnd(1_000, "-");

async function sum(externalIds: readonly string[]): Promise<number> {
  const found = await usage.find(externalIds);
  const counts = [...found.values()].map(({ events }) => events);
  return counts.reduce((total, count) => total + count, 0);
}

describe("the recorder of usage", () => {
  it("stores counts at intervals, and those that could not be stored with the next ones", async () => {
    // Longer than the command that notes the time, which is not to fail.
    const [a, b, c] = [toLong("a"), toLong("b"), toLong("c")];
    const ids = [a, b, c];
    const index = createIndex(ids);
    const delays: number[] = [];
    mock.method(globalThis, "setTimeout", (action: () => void, delayMs: number) => {
      if (delayMs >= 10_000) delays.push(delayMs);
      return startTimer(action, delayMs >= 10_000 ? 20 : delayMs);
    });
    const recorder = startUsageRecorder({ index: index.picker, usage, log });
    after(async () => {
      mock.restoreAll();
      await recorder.stop();
    });
    for (const id of [a, b, "gone", a]) index.picker.count(id, 1);
    await until("the counts are stored", async () => (await sum(ids)) === 3);
    proxy.fail({
      ...{ command: "update", collection: "topicsync_topic_usage", executed: false },
      ...{ largerThan: 1_000, times: 3 },
      answer: { ok: 0, code: 50, codeName: "MaxTimeMSExpired", errmsg: "too slow" },
    });
    for (const id of [a, c]) index.picker.count(id, 1);
    await until("the writes have failed", () => proxy.pending() === 0);
    await until("they are stored as well", async () => (await sum(ids)) === 5);
    index.picker.count(b, 1);
    await recorder.stop();
    assert.equal(await sum(ids), 6);
    assert.equal(await sum(["gone"]), 0);
    assert.deepEqual(delays.slice(0, 3), [10_000, 20_000, 40_000]);
    assert.ok(Math.max(...delays) <= 600_000);
  });

  it("stores more topics than it writes at a time, at the end without a pause", async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `many ${n}`);
    const index = createIndex(ids);
    const recorder = startUsageRecorder({ index: index.picker, usage, log });
    for (const id of [...ids, ...ids.slice(0, 10)]) index.picker.count(id, 1);
    await recorder.stop();
    // A slow store takes longer than a stop waits.
    await until("all are stored", async () => (await sum(ids)) === 460);
  });
});

describe("a part of the counts that cannot be stored", () => {
  it("is stored the next time, and no other part is lost or stored twice", async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `part ${n}`);
    const index = createIndex(ids);
    for (const [at, id] of ids.entries()) index.picker.count(id, at + 1);
    const stored = new Map<string, number>();
    let calls = 0;
    const spans: CountingSpan[] = [];
    const failing: Pick<TopicUsageStore, "add" | "noteCounting"> = {
      add(counts) {
        calls += 1;
        if (calls === 2) return Promise.reject(new Error("away"));
        for (const { externalId, matches } of counts)
          stored.set(externalId, (stored.get(externalId) ?? 0) + matches);
        return Promise.resolve();
      },
      noteCounting: (span) => Promise.resolve(void spans.push(span)),
    };
    const record = async () => {
      const recorder = startUsageRecorder({ index: index.picker, usage: failing, log });
      await recorder.stop();
    };
    await record();
    assert.equal(stored.size, 200);
    // Counted in between.
    index.picker.count("part 300", 1_000);
    await record();
    const expected = ids.map((id, at) => [id, at + 1 + (id === "part 300" ? 1_000 : 0)]);
    assert.deepEqual([...stored].toSorted(), expected.toSorted());
    assert.equal(calls, 4);
    assert.ok(spans.length === 2 && spans.every(({ since, until }) => since <= until));
  });
});

describe("the counts of an index", () => {
  it("are those of the topics that were picked last, with and without conditions", () => {
    const index = createIndex(["a", "b"]);
    index.set({ externalId: "every", namespace: "", headerQuery: "", contentQuery: "" });
    const take = () =>
      [...index.picker.takeCounts()].map(({ externalId, matches }) => `${externalId} ${matches}`);
    index.picker.pick({ event: { id: "a" } });
    index.picker.pick({ event: { id: ["b", "a", "b"] } });
    index.picker.countPicked();
    index.picker.pick({ event: { id: "b" } });
    index.picker.countPicked();
    index.picker.pick({ event: { id: "a" } });
    assert.deepEqual(take().toSorted(), ["a 1", "b 2", "every 2"]);
    assert.deepEqual(take(), []);
  });

  it("stay when a topic changes, and go with it", () => {
    const index = createIndex(["a", "b", "c"]);
    const set = (externalId: string, contentQuery: string): void => {
      index.set({ externalId, namespace: "", headerQuery: "", contentQuery });
    };
    set("all", "");
    for (const id of ["a", "b", "c", "all", "all", "a"]) index.picker.count(id, 1);
    set("a", "other=1");
    set("b", "");
    set("all", "x=1");
    index.delete("c");
    set("new", "id=new");
    const take = () =>
      [...index.picker.takeCounts()].map(({ externalId, matches }) => `${externalId} ${matches}`);
    assert.deepEqual(take().toSorted(), ["a 2", "all 2", "b 1"]);
    assert.deepEqual(take(), []);
  });
});
