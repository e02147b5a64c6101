import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { simulate, type Model } from "../../../bench/simulate-model.ts";

const model: Model = {
  ...{ rate: 10_000, seconds: 2, instances: 1, requestMs: 0.05, seed: 1 },
  ...{ shards: 1, workers: 8, commandMs: 0.01, writeMs: 0.0001, commitMs: 0.001, slowCommitMs: 0.002 },
};

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Whether one is the other within a share of it. */
const isNear = (found: number, expected: number, share: number): boolean =>
  Math.abs(found - expected) <= share * expected;

describe("the simulation", () => {
  it("answers or refuses every client, as many as come in the mean", async () => {
    const { answered, refused } = await simulate(model);
    assert.equal(refused, 0);
    // Of a Poisson process: the standard deviation is the root of the mean.
    assert.ok(Math.abs(answered - 20_000) < 5 * Math.sqrt(20_000), `${answered} were answered`);
  });

  it("lets clients wait for a processor as long as queueing theory says (M/D/1)", async () => {
    for (const use of [0.3, 0.5, 0.8]) {
      const requestMs = (use * 1_000) / model.rate;
      const { latencies, instanceUse } = await simulate({ ...model, requestMs, seconds: 3 });
      assert.ok(isNear(instanceUse, use, 0.03), `${instanceUse} busy`);
      // Pollaczek and Khinchine: the work itself, and ρ/(2(1-ρ)) of it in the queue. A store that is all but instant adds little.
      const expected = requestMs * (1 + use / (2 * (1 - use)));
      const waited = mean(latencies) - mean((await simulate({ ...model, requestMs: 1e-9 })).latencies);
      assert.ok(isNear(waited, expected, 0.2), `${waited} ms instead of ${expected} ms at ${use}`);
    }
  });

  it("is the same for the same seed, and another for another", async () => {
    const [one, same, other] = await Promise.all([1, 1, 2].map((seed) => simulate({ ...model, seed })));
    assert.deepEqual(one, same);
    assert.notDeepEqual(one, other);
  });

  it("keeps each shard as busy as its commands and registrations take", async () => {
    const found = await simulate({ ...model, shards: 4, commandMs: 0.3, writeMs: 0.2, workers: 2 });
    // Each bulk of many goes to all four shards; of few, to some of them.
    const commands = (found.answered / found.registrationsABulk) * 4;
    const most = (commands * 0.3 + found.answered * 0.2) / (2_000 * 4 * 2);
    const least = (found.answered * 0.2) / (2_000 * 4 * 2);
    assert.ok(found.shardUse > least && found.shardUse <= most, `${least} < ${found.shardUse} <= ${most}`);
  });

  it("refuses what more wait than the service lets wait, while a shard has no primary", async () => {
    const outage = { fromMs: 500, forMs: 10_000 };
    const { answered, refused } = await simulate({ ...model, shards: 2, outage, seconds: 3 });
    // 25,000 come in these 2.5 s; 10,000 may wait, and up to four bulks of 500 are on their way.
    assert.ok(refused > 12_000 && refused < 15_500, `${refused} were refused`);
    assert.ok(answered + refused > 29_000, `${answered} answered, ${refused} refused`);
  });
});
