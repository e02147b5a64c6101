import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";

import { createStatus } from "../../../src/service/kafka/sync-status.ts";
import type { WatchedLog } from "../../../consumers/partition-status.ts";

/** The contract's 3 s, less what a request takes besides. */
const maxMs = 2_500;

const hang = (): Promise<never> => new Promise(() => undefined);

/** Replaces the time limits by ones that end when the test says so. */
function takeLimits() {
  const limits: { readonly ms: number; readonly end: () => void }[] = [];
  mock.method(AbortSignal, "timeout", (ms: number) => {
    const controller = new AbortController();
    const end = (): void => {
      controller.abort(new Error("late"));
    };
    limits.push({ ms, end });
    return controller.signal;
  });
  return limits;
}

const createLog = (observer: Partial<WatchedLog["observer"]>, store: WatchedLog["store"]): WatchedLog => ({
  ...{ group: "g", topic: "t", store, consumer: undefined },
  observer: { fetchBounds: hang, findFirstSince: hang, fetchOwners: hang, ...observer },
});

const readStatus = (log: WatchedLog) =>
  createStatus({
    announcements: log,
    pushFeedback: log,
    tally: undefined,
    feedbackTally: undefined,
    router: { watched: log, tally: undefined, getIndex: undefined, countBackfills: hang },
  })();

describe("the status", () => {
  afterEach(() => {
    mock.restoreAll();
  });

  for (const [what, observer, store] of [
    ["the broker hangs", {}, { findPositions: () => Promise.resolve(new Map()) }],
    ["the broker and the store hang", {}, { findPositions: hang }],
    [
      "only the look-up of ages hangs",
      { fetchBounds: () => Promise.resolve(new Map([[0, { low: 0, high: 2, stable: 1 }]])) },
      { findPositions: () => Promise.resolve(new Map([[0, { offset: 1, epoch: 1 }]])) },
    ],
  ] as const)
    it(`is there in time when ${what}`, async () => {
      const limits = takeLimits();
      const reading = readStatus(createLog(observer, store));
      assert.ok(limits.length > 0 && limits.every(({ ms }) => ms <= maxMs));
      for (const { end } of limits.toSorted((a, b) => a.ms - b.ms)) {
        end();
        await nextTurn();
      }
      const { problems, router } = await reading;
      assert.equal(router?.topic, "t");
      assert.ok(
        problems.some((one) => one.includes("of the router: no response within")),
        problems.join(),
      );
    });

  it("has the log's end although the store hangs", async () => {
    const limits = takeLimits();
    const bounds = () => Promise.resolve(new Map([[0, { low: 0, high: 2, stable: 2 }]]));
    const reading = readStatus(createLog({ fetchBounds: bounds }, { findPositions: hang }));
    const [first, ...others] = limits.toSorted((a, b) => a.ms - b.ms);
    first?.end();
    await nextTurn();
    for (const { end } of others) end();
    const { partitions } = await reading;
    assert.equal(partitions[0]?.logEnd, 2);
  });
});
