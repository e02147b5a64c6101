import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import { learningLimits } from "../../../src/event-types/event-type.ts";
import { EventLearner, type TypeChanges } from "../../../src/event-types/learner.ts";
import { startEventRecorder } from "../../../src/event-types/recorder.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { replacePlatform, type Platform } from "../../../src/lib/platform.ts";

/** A clock that stands still, but for the time that looking into an event takes. */
let clock = { now: 0, tookMs: 0 };
let scheduled: (() => void)[] = [];
let former: Platform | undefined;

beforeEach(() => {
  clock = { now: 1_000_000, tookMs: 0 };
  scheduled = [];
  former = replacePlatform({
    now: () => clock.now,
    elapsed: () => (clock.now += clock.tookMs),
    schedule(_delayMs, action) {
      scheduled.push(action);
      return () => {
        scheduled = scheduled.filter((one) => one !== action);
      };
    },
    scheduleSoon: () => () => undefined,
    random: () => 0.5,
    fillRandom: () => undefined,
  });
});

afterEach(() => {
  if (former !== undefined) replacePlatform(former);
});

const flushPromises = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function runScheduled(): void {
  const due = scheduled;
  scheduled = [];
  for (const action of due) action();
}

function learn(learner: EventLearner, eventType: string | undefined, count: number): void {
  for (let n = 0; n < count; n += 1)
    learner.learn(eventType === undefined ? { event: {} } : { eventType, event: { n } });
}

const toSampled = (taken: Iterable<TypeChanges>): object =>
  Object.fromEntries([...taken].map(({ name, events, sampled }) => [name, [events, sampled]]));

describe("learning from events", () => {
  it("looks into the first 1,000 events of a type, then into ten per second", () => {
    const learner = new EventLearner({ keepsValues: false });
    learn(learner, "A", 1_500);
    learn(learner, "B", 3);
    learn(learner, undefined, 1);
    learn(learner, "", 1);
    assert.deepEqual(toSampled(learner.take()), { A: [1_500, 1_010], B: [3, 3], "-": [2, 2] });
    for (let second = 0; second < 5; second += 1) {
      clock.now += 1_000;
      learn(learner, "A", 100);
    }
    assert.deepEqual(toSampled(learner.take()), { A: [500, 50] });
    assert.deepEqual([...learner.take()], []);
  });

  it("spends at most a hundredth of the time", () => {
    const learner = new EventLearner({ keepsValues: false });
    // The clock is read twice per event that is looked into.
    clock.tookMs = 1;
    const startedAt = clock.now;
    learn(learner, "A", 20_000);
    const [taken] = [...learner.take()];
    const spentMs = taken?.sampled ?? 0;
    assert.ok(spentMs <= 11 + (clock.now - startedAt) / 100, `${spentMs} ms of ${clock.now - startedAt}`);
    assert.ok(spentMs >= (clock.now - startedAt) / 100);
    assert.equal(taken?.events, 20_000);
  });

  it("knows at most 1,000 types and 100,000 paths at once", () => {
    const learner = new EventLearner({ keepsValues: false, isLimited: false });
    for (let n = 0; n < 3_000; n += 1) learn(learner, `type ${n}`, 1);
    learn(learner, "x".repeat(learningLimits.typeLength + 1), 1);
    assert.equal([...learner.take()].length, learningLimits.types);
    const names = Array.from({ length: 150 }, (_, n) => [`name ${n}`, n] as const);
    const members = (type: number) => Object.fromEntries(names.map(([name, n]) => [`${type} ${name}`, n]));
    for (let n = 0; n < 1_000; n += 1) learner.learn({ eventType: `type ${n}`, event: members(n) });
    const paths = [...learner.take()].reduce((sum, type) => sum + type.paths.length, 0);
    assert.ok(paths > 90_000 && paths <= 100_000, `${paths} paths`);
    // There is room again, for types that come later.
    learner.learn({ eventType: "another", event: members(1) });
    assert.equal([...learner.take()].find(({ name }) => name === "another")?.paths.length, 152);
  });
});

describe("storing what was learned", () => {
  const createRecorder = async (record: (changes: TypeChanges) => Promise<void>) => {
    const learner = new EventLearner({ keepsValues: false });
    const log = await createLogger("silent");
    return { learner, ...startEventRecorder({ learner, eventTypes: { record }, log }) };
  };

  it("happens every minute, and at the end", async () => {
    const stored: TypeChanges[] = [];
    const recorder = await createRecorder((changes) => Promise.resolve(void stored.push(changes)));
    // A minute without events.
    runScheduled();
    await flushPromises();
    recorder.learn({ eventType: "A" });
    runScheduled();
    await flushPromises();
    assert.deepEqual(
      stored.map(({ name }) => name),
      ["A"],
    );
    recorder.learn({ eventType: "B" });
    await recorder.stop();
    assert.deepEqual(
      stored.map(({ name }) => name),
      ["A", "B"],
    );
    assert.deepEqual(scheduled, []);
  });

  it("may fail or take forever: nothing is thrown, and learning goes on", async () => {
    const recorder = await createRecorder(() => Promise.reject(new Error("no store")));
    recorder.learn({ eventType: "A" });
    runScheduled();
    await recorder.stop();
    const slow = await createRecorder(() => new Promise(() => undefined));
    slow.learn({ eventType: "A" });
    const stopped = slow.stop();
    runScheduled();
    await stopped;
  });

  it("ends when learning fails", async () => {
    const recorder = await createRecorder(() => Promise.resolve());
    const hostile = new Proxy({}, { ownKeys: () => assert.fail("looked into") });
    recorder.learn({ eventType: "A", event: hostile });
    recorder.learn({ eventType: "A" });
    assert.deepEqual(toSampled(recorder.learner.take()), { A: [1, 1] });
  });
});
