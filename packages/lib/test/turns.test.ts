import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import { pino } from "pino";

import { replacePlatform, type Platform } from "../platform.ts";
import { Turns } from "../concurrency/turns.ts";
import { ApplyQueue } from "../../../src/topics/live/apply-queue.ts";
import { createTopicIndex } from "../../../src/topics/live/topic-index.ts";
import { findContaining } from "../../../src/topics/containing.ts";
import { readAllFilters } from "../../../src/topics/insertion.ts";

let former: Platform;
let turns = 0;
/** How much later each look at the clock is. */
let stepMs = 4;
/** Called between two turns. */
let between: () => void = () => undefined;

beforeEach(() => {
  let time = 0;
  [turns, stepMs, between] = [0, 4, () => undefined];
  former = replacePlatform({
    now: () => former.now(),
    elapsed: () => (time += stepMs),
    schedule: (delayMs, action) => former.schedule(delayMs, action),
    scheduleSoon(action) {
      turns += 1;
      between();
      return former.scheduleSoon(action);
    },
    random: () => former.random(),
    fillRandom: (bytes) => {
      former.fillRandom(bytes);
    },
  });
});
afterEach(() => {
  replacePlatform(former);
});

const createTopic = (externalId: string, headerQuery: string) => ({
  ...{ id: externalId, externalId, name: externalId, namespace: "", headerQuery, contentQuery: "" },
});

describe("long work", () => {
  it("lets others go first after 10 ms", async () => {
    const all = new Turns();
    for (let i = 0; i < 100; i += 1) if (all.isOver()) await all.next();
    // Each turn begins with a look at the clock, and ends with the third one after it.
    assert.equal(turns, 33);
  });

  it("applies changes in their order, also those that are added meanwhile", async () => {
    const index = createTopicIndex(pino({ level: "silent" }));
    const queue = new ApplyQueue();
    const add = (externalId: string, headerQuery: string | undefined): void => {
      const topic = headerQuery === undefined ? undefined : createTopic(externalId, headerQuery);
      queue.add({ externalId, topic, indexes: [index] });
    };
    for (let i = 0; i < 30; i += 1) add("a", `a=${i}`);
    add("b", "a=1");
    let isAdded = false;
    between = () => {
      if (isAdded) return;
      isAdded = true;
      add("a", "a=last");
      add("b", undefined);
      void queue.run();
    };
    await queue.run();
    assert.ok(turns > 5);
    assert.deepEqual([index.status().topics, index.picker.pick({ a: "last" })], [1, ["a"]]);
  });

  it("reads the filters of a request in turns, and knows each afterwards", async () => {
    const topics = Array.from({ length: 60 }, (_, i) => createTopic(`t${i}`, i === 40 ? "a=1=1" : `a=${i}`));
    const requireReadable = await readAllFilters(topics);
    assert.ok(turns >= 15);
    const rejected = topics.filter((topic) => {
      try {
        requireReadable(topic);
        return false;
      } catch {
        return true;
      }
    });
    assert.deepEqual(
      rejected.map(({ externalId }) => externalId),
      ["t40"],
    );
  });

  it("compares a topic with at most 50 others, and says that there may be more", async () => {
    stepMs = 0.1;
    const others = Array.from({ length: 80 }, (_, i) => createTopic(`t${i}`, "a=1,2"));
    const index = { pick: () => Promise.resolve({ topics: others, total: others.length }) };
    const { containing, isComplete } = await findContaining(index, createTopic("own", "a=1"), "all");
    assert.deepEqual([containing.length, isComplete], [50, false]);
  });

  it("compares for at most 100 ms", async () => {
    stepMs = 7;
    const others = Array.from({ length: 40 }, (_, i) => createTopic(`t${i}`, "a=1,2"));
    const index = { pick: () => Promise.resolve({ topics: others, total: others.length }) };
    const { containing, isComplete } = await findContaining(index, createTopic("own", "a=1"), "all");
    assert.ok(containing.length > 0 && containing.length < 15, String(containing.length));
    assert.equal(isComplete, false);
    assert.ok(turns >= 4);
  });
});
