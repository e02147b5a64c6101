import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";

import { FetchWatch } from "../../../consumers/fetch-watch.ts";
import type { ReaderStatus } from "../../../consumers/partition-status.ts";

const reading: ReaderStatus = {
  ...{ topic: "t", partition: 0, state: "reading", reason: undefined, cause: undefined, offset: 3 },
};

/** A watch, and the clock that it reads. */
function createWatch() {
  const clock = { elapsed: 1_000_000, now: Date.parse("2026-11-01T12:00:00Z") };
  mock.method(performance, "now", () => clock.elapsed);
  mock.method(Date, "now", () => clock.now);
  const pass = (ms: number): void => {
    clock.elapsed += ms;
    clock.now += ms;
  };
  return { watch: new FetchWatch(), pass };
}

describe("the state of a partition", () => {
  afterEach(() => {
    mock.restoreAll();
  });

  it("is that of its reader while Kafka responds to fetches", () => {
    const { watch, pass } = createWatch();
    for (let times = 0; times < 5; times += 1) {
      pass(8_000);
      assert.equal(watch.describe(reading), reading);
      watch.note();
    }
  });

  it("says since when Kafka has not responded", () => {
    const { watch, pass } = createWatch();
    pass(60_000);
    assert.deepEqual(watch.describe(reading), {
      ...reading,
      ...{ state: "paused", cause: "outage" },
      reason: "not reading: Kafka has not responded to a fetch since 2026-11-01T12:00:00.000Z",
    });
    const paused: ReaderStatus = { ...reading, state: "paused", reason: "a better one", cause: "error" };
    assert.equal(watch.describe(paused), paused);
    watch.note();
    assert.equal(watch.describe(reading), reading);
  });

  it("does not blame Kafka while a batch is written", async () => {
    const { watch, pass } = createWatch();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const handled = watch.handle(promise);
    pass(60_000);
    assert.equal(watch.describe(reading), reading);
    resolve(undefined);
    await handled;
    assert.equal(watch.describe(reading), reading);
    pass(60_000);
    assert.equal(watch.describe(reading).state, "paused");
  });
});
