import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { coordinatorScenes } from "./cluster-coordinator-scenes.ts";
import { failureScenes } from "./cluster-failure-scenes.ts";
import { lossScenes } from "./cluster-loss-scenes.ts";
import { startRealCluster } from "./real-cluster.ts";
import { runSimulatedCluster } from "./simulated-cluster.ts";

/** Each delays the network and what brokers learn in another way. */
const seeds = 10;

const scenes = [...failureScenes, ...coordinatorScenes, ...lossScenes];

describe("the simulated cluster, while brokers fail", () => {
  const expected = new Map<string, unknown>();

  // First, because the simulation takes over the time of the whole process.
  before(async () => {
    const runReal = await startRealCluster({
      hasOwnController: true,
      // Leaders stay where scenes let them be.
      settings: ["auto.leader.rebalance.enable=false"],
    });
    for (const { name, play } of scenes) expected.set(name, await runReal(play));
  });

  for (const { name, play } of scenes)
    it(`is like two real brokers: ${name}`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1)
        assert.deepEqual(await runSimulatedCluster(seed, play), expected.get(name), `seed ${seed}`);
    });
});
