import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";

import { cached } from "../concurrency/cached.ts";

/** Creates a fetch that counts its calls and waits until it is released. */
function createFetch() {
  let calls = 0;
  let release = Promise.withResolvers<undefined>();
  return {
    calls: () => calls,
    fetch: async () => {
      const call = (calls += 1);
      await release.promise;
      return { call };
    },
    release: () => {
      release.resolve(undefined);
      release = Promise.withResolvers();
    },
  };
}

/** Time that passes only when the test says so. */
function useClock(t: TestContext) {
  let time = performance.now();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", () => time);
  return {
    pass: (ms: number): void => {
      time += ms;
      // lru-cache reads the clock once in a millisecond.
      t.mock.timers.tick(ms);
    },
  };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("a cached value", () => {
  it("is fetched once for concurrent callers, and again a second after an error", async (t) => {
    const { pass } = useClock(t);
    let calls = 0;
    const get = cached(
      () => {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error("away")) : Promise.resolve({ calls });
      },
      { ttlMs: 60_000 },
    );
    const failed = await Promise.allSettled(Array.from({ length: 100 }, get));
    assert.ok(failed.every(({ status }) => status === "rejected"));
    pass(999);
    await assert.rejects(get(), /away/);
    assert.equal(calls, 1);
    pass(2);
    assert.deepEqual(await Promise.all(Array.from({ length: 100 }, get)), Array(100).fill({ calls: 2 }));
  });

  it("makes callers wait once it has expired", async (t) => {
    const { pass } = useClock(t);
    let calls = 0;
    const get = cached(() => Promise.resolve({ call: (calls += 1) }), { ttlMs: 100 });
    assert.deepEqual(await get(), { call: 1 });
    pass(99);
    assert.deepEqual(await get(), { call: 1 });
    pass(2);
    assert.deepEqual(await get(), { call: 2 });
  });

  it("is returned while the next one is fetched, if configured", async (t) => {
    const { pass } = useClock(t);
    const { fetch, release, calls } = createFetch();
    const get = cached(fetch, { ttlMs: 100, maxStaleMs: 10_000 });
    const first = get();
    release();
    assert.deepEqual(await first, { call: 1 });
    pass(101);
    for (let times = 0; times < 2; times += 1) assert.deepEqual(await get(), { call: 1 });
    assert.equal(calls(), 2);
    release();
    await nextTurn();
    assert.deepEqual(await get(), { call: 2 });
  });

  it("is not returned once it is too old, as after an idle night", async (t) => {
    const { pass } = useClock(t);
    let calls = 0;
    const get = cached(() => Promise.resolve({ call: (calls += 1) }), { ttlMs: 100, maxStaleMs: 1_000 });
    assert.deepEqual(await get(), { call: 1 });
    pass(1_001);
    assert.deepEqual(await get(), { call: 2 });
  });

  it("never expires without a time to live", async (t) => {
    const { pass } = useClock(t);
    let calls = 0;
    const get = cached(() => Promise.resolve({ call: (calls += 1) }), {});
    await get();
    pass(1e9);
    assert.deepEqual(await get(), { call: 1 });
  });

  it("lives longer if fetching it takes long", async (t) => {
    const { pass } = useClock(t);
    let calls = 0;
    const get = cached(
      () => {
        pass(50);
        return Promise.resolve({ call: (calls += 1) });
      },
      { ttlMs: 100, restFactor: 10 },
    );
    await get();
    pass(499);
    assert.deepEqual(await get(), { call: 1 });
    pass(2);
    assert.deepEqual(await get(), { call: 2 });
  });
});
