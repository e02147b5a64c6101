import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { cached } from "../../../src/lib/cached.ts";
import { until } from "../../support/poll.ts";

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

describe("a cached value", () => {
  it("is fetched once for concurrent callers, and again a second after an error", async () => {
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
    await assert.rejects(get(), /away/);
    assert.equal(calls, 1);
    await until("it is fetched again", () => get().catch(() => undefined));
    assert.deepEqual(await Promise.all(Array.from({ length: 100 }, get)), Array(100).fill({ calls: 2 }));
  });

  it("makes callers wait once it has expired", async () => {
    let calls = 0;
    const get = cached(() => Promise.resolve({ call: (calls += 1) }), { ttlMs: 1 });
    assert.deepEqual(await get(), { call: 1 });
    await until("it is fetched again", async () => (await get()).call === 2);
  });

  it("is returned while the next one is fetched, if configured", async () => {
    const { fetch, release, calls } = createFetch();
    const get = cached(fetch, { ttlMs: 1, staleWhileRevalidate: true });
    const first = get();
    release();
    assert.deepEqual(await first, { call: 1 });
    await until("it is fetched again", async () => {
      assert.deepEqual(await get(), { call: 1 });
      return calls() === 2;
    });
    assert.deepEqual(await get(), { call: 1 });
    release();
    await until("the next one is there", async () => (await get()).call === 2);
  });

  it("never expires without a time to live", async () => {
    let calls = 0;
    const get = cached(() => Promise.resolve({ call: (calls += 1) }), {});
    const startedAt = performance.now();
    await until("a moment has passed", async () => {
      assert.deepEqual(await get(), { call: 1 });
      return performance.now() - startedAt > 1_100;
    });
  });

  it("lives longer if fetching it takes long", async () => {
    let calls = 0;
    const get = cached(
      async () => {
        const startedAt = performance.now();
        await until("a moment has passed", () => performance.now() - startedAt > 5);
        return { call: (calls += 1) };
      },
      { ttlMs: 1, restFactor: 100_000 },
    );
    await get();
    const startedAt = performance.now();
    await until("the time to live has passed", () => performance.now() - startedAt > 50);
    assert.deepEqual(await get(), { call: 1 });
  });
});
