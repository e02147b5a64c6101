import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { findReasonAgainstKfake } from "../../support/kfake.ts";
import { groupScenes } from "./cluster-group-scenes.ts";
import { offsetScenes } from "./cluster-offset-scenes.ts";
import { topicScenes } from "./cluster-topic-scenes.ts";
import { transactionScenes } from "./cluster-transaction-scenes.ts";
import { nameError } from "./cluster-under-test.ts";
import { runKfakeCluster } from "./kfake-cluster.ts";
import { compareWithTable, kfakeDiffers, notOnKfake } from "./kfake-differences.ts";
import { startRealCluster } from "./real-cluster.ts";
import { runSimulatedCluster } from "./simulated-cluster.ts";
import { findTreatedErrors, treatedErrors } from "./treated-errors.ts";

/** Each delays the network and what brokers learn in another way. */
const seeds = 10;

const scenes = [...topicScenes, ...groupScenes, ...offsetScenes, ...transactionScenes];

/** Those that kfake plays, too. */
const kfakeScenes = scenes.filter(({ name }) => !(name in notOnKfake));
const reasonAgainstKfake = await findReasonAgainstKfake();

/** What two brokers of Apache Kafka answer. */
const expected = new Map<string, unknown>();
/** What two brokers of kfake answer, or the error with which a scene failed. */
const ofKfake = new Map<string, PromiseSettledResult<unknown>>();

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
  if (reasonAgainstKfake !== undefined) return;
  for (const { name, play } of kfakeScenes) {
    const [outcome] = await Promise.allSettled([runKfakeCluster(play)]);
    ofKfake.set(name, outcome);
  }
});

describe("the simulated cluster", () => {
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

describe("kfake", () => {
  it("has rows only for scenes that exist, and differences only for those that it plays", (t) => {
    if (reasonAgainstKfake !== undefined) t.diagnostic(`no scene was played on kfake: ${reasonAgainstKfake}`);
    const all = new Set(scenes.map(({ name }) => name));
    const played = new Set(kfakeScenes.map(({ name }) => name));
    assert.deepEqual(
      [
        ...Object.keys(notOnKfake).filter((name) => !all.has(name)),
        ...Object.keys(kfakeDiffers).filter((name) => !played.has(name)),
      ],
      [],
    );
  });

  for (const { name } of reasonAgainstKfake === undefined ? kfakeScenes : []) {
    const reasons = [...new Set(Object.values(kfakeDiffers[name] ?? {}))];
    const except = reasons.length === 0 ? "" : ` (except: ${reasons.join("; ")})`;
    it(`is like two real brokers: ${name}${except}`, () => {
      const outcome = ofKfake.get(name);
      if (outcome?.status !== "fulfilled") throw outcome?.reason;
      assert.deepEqual(compareWithTable(name, outcome.value, expected.get(name)), {
        unexpected: [],
        outdated: [],
      });
    });
  }
});
