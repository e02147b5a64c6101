import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createSingleFlight } from "../concurrency/single-flight.ts";

describe("a single flight", () => {
  it("is shared by concurrent callers with the same key, and not by later ones", async () => {
    const run = createSingleFlight<number>();
    const runs: PromiseWithResolvers<number>[] = [];
    const start = (): Promise<number> => {
      const one = Promise.withResolvers<number>();
      runs.push(one);
      return one.promise;
    };
    const callers = [run("a", start), run("a", start), run("b", start)];
    assert.equal(runs.length, 2);
    runs[0]?.resolve(1);
    runs[1]?.reject(new Error("away"));
    assert.deepEqual(
      (await Promise.allSettled(callers)).map((one) => (one.status === "fulfilled" ? one.value : "failed")),
      [1, 1, "failed"],
    );
    void run("a", start);
    void run("b", start);
    assert.equal(runs.length, 4);
  });
});
