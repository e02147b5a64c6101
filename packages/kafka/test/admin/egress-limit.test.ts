import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import { KafkaUnavailableError, UnavailableError } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import { EgressTopicsDirectory } from "../../admin/egress-topics.ts";
import type { KafkaRequests } from "../../requests.ts";
import { createRandom, type Random } from "../../../../test/support/random.ts";

const log = await createLogger("silent");
const names = ["a", "b", "c", "d", "e", "f"] as const;
/** Longer than a refusal is remembered. */
const forgottenMs = 65_000;
/** No look-up that is repeated meets two lags: the waits of concurrent ones add up here. */
const lagPauseMs = 40_000;

/** Brokers that lag behind, fail and refuse, and other programs that create and delete Kafka topics. */
class Brokers {
  isFaulty = true;
  readonly existing = new Set<string>();
  readonly deletedAt = new Map<string, number>();
  /** The existing ones that the router has created. */
  readonly own = new Set<string>();
  failures = 0;
  readonly created: string[] = [];
  readonly #random: Random;
  readonly #now: () => number;
  readonly #laggedAt = new Map<string, number>();

  constructor(random: Random, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  readonly fetchMetadata = (wanted: readonly string[] | null) => {
    if (this.#isFailing()) return Promise.reject(new KafkaUnavailableError("away"));
    const partitions = [0, 1, 2].map((partition) => ({
      ...{ partition, error: 0, leader: 1, leaderEpoch: 0, replicas: [1], isr: [1], offlineReplicas: [] },
    }));
    const topics = (wanted ?? []).map((name) => {
      const isFound = this.existing.has(name) && !this.#lags(name);
      return { name, topicId: undefined, error: isFound ? 0 : 3, partitions: isFound ? partitions : [] };
    });
    const brokers = [{ nodeId: 1, host: "h", port: 1, rack: null }];
    return Promise.resolve({ brokers, clusterId: "cluster", controllerId: 1, topics });
  };

  readonly createTopics: KafkaRequests["createTopics"] = async (topics) => {
    await Promise.resolve();
    if (this.#isFailing()) throw new KafkaUnavailableError("away");
    return topics.map(({ name }) => {
      if (this.existing.has(name)) return { name, isCreated: false, refusal: undefined };
      if (this.#isFailing()) {
        const refusal = { reason: "too few brokers", error: new Error("refused"), isFinal: false };
        return { name, isCreated: false, refusal };
      }
      this.existing.add(name);
      this.created.push(name);
      this.own.add(name);
      return { name, isCreated: true, refusal: undefined };
    });
  };

  delete(name: string): void {
    this.own.delete(name);
    if (this.existing.delete(name)) this.deletedAt.set(name, this.#now());
  }

  #isFailing(): boolean {
    const isFailing = this.isFaulty && this.#random.chance(0.15);
    if (isFailing) this.failures += 1;
    return isFailing;
  }

  #lags(name: string): boolean {
    if (!this.isFaulty || this.#now() - (this.#laggedAt.get(name) ?? -Infinity) < lagPauseMs) return false;
    const lags = this.#random.chance(0.3);
    if (lags) this.#laggedAt.set(name, this.#now());
    return lags;
  }
}

interface DirectoryOptions {
  readonly brokers: Brokers;
  readonly createTopics?: Brokers["createTopics"];
  readonly maxTopics: number;
  /** Gets the names that are reported as created. */
  readonly reported: string[];
}

const createDirectory = ({
  brokers,
  createTopics = brokers.createTopics,
  maxTopics,
  reported,
}: DirectoryOptions): EgressTopicsDirectory =>
  new EgressTopicsDirectory({
    requests: { fetchMetadata: brokers.fetchMetadata, createTopics },
    create: { partitions: 3, replication: 1 },
    automatic: { maxTopics, onCreated: (created) => void reported.push(...created) },
    log,
  });

async function run(seed: number, clock: { now: number }): Promise<void> {
  const random = createRandom(seed);
  const brokers = new Brokers(random, () => clock.now);
  const maxTopics = random.between(1, 5);
  const reported: string[] = [];
  const egressTopics = createDirectory({ brokers, maxTopics, reported });

  /** When each of the existing Kafka topics was found. */
  const foundAt = new Map<string, number>();
  async function find(wanted: readonly string[]): Promise<void> {
    const startedAt = clock.now;
    for (const [name, found] of await egressTopics.find(wanted)) {
      if (typeof found === "number") {
        if (!brokers.existing.has(name))
          assert.ok(clock.now - (brokers.deletedAt.get(name) ?? 0) < forgottenMs);
        else if (!foundAt.has(name)) foundAt.set(name, clock.now);
        continue;
      }
      assert.ok(!brokers.own.has(name) || !foundAt.has(name), `${name} was created and found`);
      assert.equal(brokers.created.length, maxTopics, `${name} could be created: ${found.reason}`);
      const isForgotten = startedAt - (foundAt.get(name) ?? Infinity) > forgottenMs;
      assert.ok(!isForgotten, `${name} exists, and was found before`);
    }
  }

  for (let step = 0; step < 12; step += 1) {
    clock.now += random.between(0, 30_000);
    if (random.chance(0.3)) brokers.existing.add(random.pick(names));
    if (random.chance(0.2)) {
      const deleted = random.pick(names);
      brokers.delete(deleted);
      foundAt.delete(deleted);
    }
    const finds = Array.from({ length: random.between(1, 3) }, () => random.shuffle(names).slice(0, 3));
    const failuresBefore = brokers.failures;
    const results = Promise.allSettled(finds.map(find));
    if (random.chance(0.3)) egressTopics.forget();
    for (const result of await results) {
      if (result.status === "fulfilled") continue;
      const reason: unknown = result.reason;
      const isForeseen =
        brokers.failures > failuresBefore || /has to be looked up again/u.test(String(reason));
      if (!(reason instanceof UnavailableError) || !isForeseen) throw reason;
    }
    assert.ok(brokers.created.length <= maxTopics, `${brokers.created.length} of ${maxTopics} were created`);
    assert.deepEqual(reported, brokers.created);
  }

  brokers.isFaulty = false;
  clock.now += forgottenMs;
  await find(names);
  const isUsedUp = brokers.created.length === maxTopics;
  assert.ok(isUsedUp || brokers.existing.size === names.length, "the limit is what was created");
  for (const name of names) brokers.existing.add(name);
  clock.now += forgottenMs;
  assert.ok([...(await egressTopics.find(names)).values()].every((found) => found === 3));
}

describe("the creation of egress topics", () => {
  const clock = { now: 0 };
  let former: Platform;
  beforeEach(() => {
    former = replacePlatform({
      now: () => clock.now,
      elapsed: () => clock.now,
      schedule(delayMs, action) {
        clock.now += delayMs;
        queueMicrotask(action);
        return () => undefined;
      },
      scheduleSoon: () => () => undefined,
      random: () => 0,
      fillRandom: () => undefined,
    });
  });
  afterEach(() => void replacePlatform(former));

  it("ends exactly at the limit, and no outage makes dead letters of events", async () => {
    for (let seed = 1; seed <= 150; seed += 1)
      await run(seed, clock).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
  });

  it("counts what one request has created although the next one failed", async () => {
    const brokers = new Brokers(createRandom(1), () => clock.now);
    brokers.isFaulty = false;
    let requests = 0;
    const createTopics: typeof brokers.createTopics = (request) => {
      requests += 1;
      return requests === 2
        ? Promise.reject(new KafkaUnavailableError("away"))
        : brokers.createTopics(request);
    };
    const reported: string[] = [];
    const egressTopics = createDirectory({ brokers, createTopics, maxTopics: 201, reported });
    const wanted = Array.from({ length: 210 }, (_, number) => `t${number}`);
    // A request creates 200.
    await assert.rejects(egressTopics.find(wanted.slice(0, 201)), UnavailableError);
    assert.equal(reported.length, 200);
    await egressTopics.find(wanted.slice(202));
    assert.equal(brokers.created.length, 201);
    assert.deepEqual(reported, brokers.created);
  });
});
