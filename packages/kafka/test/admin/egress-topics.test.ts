import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { createLogger } from "@topicsync/lib/logger";
import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import { EgressTopicsDirectory, type EgressTopicsOptions } from "../../admin/egress-topics.ts";
import type { Metadata } from "../../protocol/metadata.ts";
import { connectBroker } from "../../../../test/support/broker.ts";
import { createKafkaTopics } from "../../../../test/support/kafka-topics.ts";
import { unique } from "../../../../test/support/names.ts";
import { sharedStack, testKafka } from "../../../../test/support/stack.ts";

const missingReason = {
  code: "NO_EGRESS_TOPIC",
  reason: "it does not exist, or this user may not see it",
} as const;

describe("the look-up of an egress topic", () => {
  const log = createLogger("silent");
  let former: Platform;
  let timeMs = 0;

  beforeEach(() => {
    former = replacePlatform({
      now: () => timeMs,
      elapsed: () => timeMs,
      schedule(delayMs, action) {
        timeMs += delayMs;
        queueMicrotask(action);
        return () => undefined;
      },
      scheduleSoon: () => () => undefined,
      random: () => 0.5,
      fillRandom: () => undefined,
    });
  });
  afterEach(() => void replacePlatform(former));

  /** Each answer names the topics that the asked broker knows; the last one is repeated. */
  async function createScene(
    answers: readonly (readonly string[])[],
    brokers = 1,
    {
      existing = [],
      ...changes
    }: Partial<EgressTopicsOptions> & { readonly existing?: readonly string[] } = {},
  ) {
    const asked: string[][] = [];
    const egressTopics = new EgressTopicsDirectory({
      requests: {
        createTopics: (topics) =>
          Promise.resolve(
            topics.map(({ name }) => ({ name, isCreated: !existing.includes(name), refusal: undefined })),
          ),
        fetchMetadata(names) {
          const known = answers[Math.min(asked.length, answers.length - 1)] ?? [];
          asked.push([...(names ?? [])]);
          return Promise.resolve(createMetadata(names ?? known, known, brokers));
        },
      },
      create: undefined,
      log: await log,
      ...changes,
    });
    return { egressTopics, asked };
  }

  it("asks for what it does not know yet, by name, and again after 20 seconds", async () => {
    const { egressTopics, asked } = await createScene([["a", "b"]]);
    for (const wanted of [["a"], ["a", "b"], ["b"]]) await egressTopics.find(wanted);
    timeMs += 20_001;
    assert.deepEqual([...(await egressTopics.find(["a"]))], [["a", 3]]);
    assert.deepEqual(asked, [["a"], ["b"], ["a"]]);
  });

  it("does not believe the answer of one broker that it is missing", async () => {
    const { egressTopics, asked } = await createScene([[], ["a"]]);
    const before = timeMs;
    assert.deepEqual(
      [...(await egressTopics.find(["a", "b"]))],
      [
        ["a", 3],
        ["b", missingReason],
      ],
    );
    assert.deepEqual(asked, [
      ["a", "b"],
      ["a", "b"],
    ]);
    assert.equal(timeMs - before, 2_000);
  });

  it("does not believe that one is missing because another partition forgets it", async () => {
    const { egressTopics } = await createScene([["a"]]);
    await egressTopics.find(["a"]);
    const found = egressTopics.find(["a", "b"]);
    egressTopics.forget();
    await assert.rejects(found, UnavailableError);
    assert.deepEqual(await egressTopics.find(["a"]), new Map([["a", 3]]));
  });

  it("need not be confirmed as long as it stays missing", async () => {
    const { egressTopics, asked } = await createScene([[]]);
    for (let times = 0; times < 3; times += 1)
      assert.deepEqual((await egressTopics.find(["a"])).get("a"), missingReason);
    assert.equal(asked.length, 4);
  });

  it("fails while the broker knows no brokers, as it does when it has just started", async () => {
    const { egressTopics } = await createScene([[]], 0);
    await assert.rejects(egressTopics.find(["a"]), { name: "UnavailableError" });
  });

  it("is put off for a minute after the user was denied to write there", async () => {
    const { egressTopics, asked } = await createScene([["a"]]);
    egressTopics.deny("a", "no right");
    assert.deepEqual((await egressTopics.find(["a"])).get("a"), {
      code: "EGRESS_REJECTED",
      reason: "no right",
    });
    assert.deepEqual(asked, []);
    timeMs += 60_001;
    assert.equal((await egressTopics.find(["a"])).get("a"), 3);
  });

  for (const [title, existing, expected] of [
    ["all", ["a", "b"], []],
    ["one", ["a"], ["b"]],
    ["none", [], ["a", "b"]],
  ] as const)
    it(`reports what it has created when another process created ${title} at the same moment`, async () => {
      const created: string[] = [];
      const { egressTopics } = await createScene([[], [], ["a", "b"]], 1, {
        existing,
        create: { partitions: 1, replication: 1 },
        automatic: { maxTopics: 10, onCreated: (names) => void created.push(...names) },
      });
      const found = await egressTopics.find(["a", "b"]);
      assert.deepEqual([...found.values()], [3, 3]);
      assert.deepEqual(created, expected);
    });
});

describe("the creation of a missing egress topic", () => {
  it("is an outage if Kafka may accept it later: too few brokers for the replicas", async () => {
    const broker = await connectBroker();
    const egressTopics = broker.createEgressTopics({ partitions: 1, replication: 3 });
    await assert.rejects(egressTopics.find([unique("egress")]), {
      name: "UnavailableError",
      message: /is missing, and it cannot be created: Unable to replicate/u,
    });
  });

  it("ends at the limit, and is reported", async () => {
    const broker = await connectBroker();
    const created: string[] = [];
    const automatic = { maxTopics: 1, onCreated: (names: readonly string[]) => void created.push(...names) };
    const egressTopics = broker.createEgressTopics({ partitions: 2, replication: 1 }, automatic);
    const [first, second, third] = [unique("egress"), unique("egress"), unique("egress")];
    const found = await egressTopics.find([first, second]);
    assert.equal(found.get(first), 2);
    assert.deepEqual(found.get(second), {
      code: "NO_EGRESS_TOPIC",
      reason: "it does not exist, and KAFKA_EGRESS_MAX_CREATED (1) Kafka topics have been created",
    });
    assert.equal(typeof (await egressTopics.find([third])).get(third), "object");
    assert.deepEqual(created, [first]);
  });

  it("is refused for good if no Kafka topic can have the name, and the others are created", async () => {
    const { admin } = testKafka(sharedStack().kafka);
    await admin.connect();
    const [existing, missing, unnameable] = [unique("egress"), unique("egress"), "x".repeat(250)];
    await createKafkaTopics(admin, { topic: existing, numPartitions: 4 });
    const broker = await connectBroker();
    const egressTopics = broker.createEgressTopics({ partitions: 2, replication: 1 });
    const found = await egressTopics.find([existing, missing, unnameable]);
    assert.deepEqual([found.get(existing), found.get(missing)], [4, 2]);
    const obstacle = found.get(unnameable);
    assert.ok(typeof obstacle === "object");
    assert.equal(obstacle.code, "NO_EGRESS_TOPIC");
    assert.match(obstacle.reason, /^it cannot be created: /u);
    assert.deepEqual((await egressTopics.find([unnameable])).get(unnameable), obstacle);
  });
});

function createMetadata(names: readonly string[], known: readonly string[], brokers: number): Metadata {
  const nodes = { replicas: [1], isr: [1], offlineReplicas: [] };
  const partition = { error: 0, leader: 1, leaderEpoch: 0, ...nodes };
  return {
    brokers: Array.from({ length: brokers }, (_, nodeId) => ({ nodeId, host: "h", port: 1, rack: null })),
    clusterId: "cluster",
    controllerId: 1,
    topics: names.map((name) => ({
      error: known.includes(name) ? 0 : 3,
      name,
      topicId: undefined,
      partitions: known.includes(name)
        ? [0, 1, 2].map((number) => ({ ...partition, partition: number }))
        : [],
    })),
  };
}
