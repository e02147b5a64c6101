import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { groupScenes } from "./cluster-group-scenes.ts";
import { offsetScenes } from "./cluster-offset-scenes.ts";
import { topicScenes } from "./cluster-topic-scenes.ts";
import { transactionScenes } from "./cluster-transaction-scenes.ts";
import { nameError } from "./cluster-under-test.ts";
import { startRealCluster } from "./real-cluster.ts";
import { runSimulatedCluster } from "./simulated-cluster.ts";
import { findTreatedErrors, treatedErrors } from "./treated-errors.ts";

/** Each delays the network and what brokers learn in another way. */
const seeds = 10;

const scenes = [...topicScenes, ...groupScenes, ...offsetScenes, ...transactionScenes];

describe("the simulated cluster", () => {
  const expected = new Map<string, unknown>();

  // First, because the simulation takes over the time of the whole process.
  before(async () => {
    const runReal = await startRealCluster({
      hasControllerProxy: true,
      settings: [
        // A broker that is slow on a busy machine must not lose its groups to the other.
        "broker.session.timeout.ms=60000",
        "offsets.retention.check.interval.ms=500",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
      ],
    });
    for (const { name, play } of scenes) expected.set(name, await runReal(play));
  });

  it("has been asked for every error that the product treats by name", () => {
    const seen = new Set(JSON.stringify([...expected]).match(/\w+/g));
    const rows = new Map(Object.entries(treatedErrors));
    const missing = findTreatedErrors().filter((name) => !rows.has(name));
    assert.deepEqual(missing, [], "add rows to treated-errors.ts");
    for (const [name, row] of rows) {
      if ("code" in row) assert.ok(seen.has(nameError(row.code)), `no scene provokes ${name}`);
    }
  });

  for (const { name, play } of scenes)
    it(`is like two real brokers: ${name}`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1)
        assert.deepEqual(await runSimulatedCluster(seed, play), expected.get(name), `seed ${seed}`);
    });
});
