import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { transactionScenes } from "./kafka-transaction-scenes.ts";
import { createRealTransactions } from "./real-transactions.ts";
import { runSimulatedTransactions } from "./simulated-transactions.ts";

/** Each seed delays the network and the markers in another way. */
const seeds = 20;

describe("the simulated coordinator of transactions", () => {
  const expected = new Map<string, unknown>();

  // First, because the simulation takes over the time of the whole process.
  before(async () => {
    const runReal = await createRealTransactions();
    for (const { name, play } of transactionScenes) expected.set(name, await runReal(play));
  });

  for (const { name, play } of transactionScenes)
    it(`is like the real one: ${name}`, async () => {
      for (let seed = 1; seed <= seeds; seed += 1)
        assert.deepEqual(await runSimulatedTransactions(seed, play), expected.get(name), `seed ${seed}`);
    });
});
