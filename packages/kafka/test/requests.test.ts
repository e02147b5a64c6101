import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { KafkaUnavailableError } from "@topicsync/lib/errors";
import { createRequests } from "../requests.ts";
import { requestFetch } from "../protocol/fetch.ts";
import { requestStableOffset } from "../protocol/offset-fetch.ts";
import { requestMetadata } from "../protocol/metadata.ts";
import type { RequestTarget } from "../protocol/request.ts";
import { createCluster } from "../workarounds/clusters.ts";
import { connectBroker } from "../../../test/support/broker.ts";
import { createKafkaTopics, recreateKafkaTopic } from "../../../test/support/kafka-topics.ts";
import { unique } from "../../../test/support/names.ts";
import { sharedStack, testKafka } from "../../../test/support/stack.ts";

interface Cluster {
  readonly brokerPool: { findConnectedBroker(): Promise<RequestTarget> };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

const { kafka, admin, producer } = testKafka(sharedStack().kafka);
const broker = await connectBroker();
await Promise.all([admin.connect(), producer.connect()]);

/** Runs with the connections that requests use, and with the only broker. */
async function withRequests<T>(
  use: (requests: ReturnType<typeof createRequests>, target: RequestTarget) => Promise<T>,
): Promise<T> {
  const cluster = createCluster(kafka, () => undefined) as Cluster;
  const requests = createRequests(() => cluster);
  try {
    await cluster.connect();
    return await use(requests, await cluster.brokerPool.findConnectedBroker());
  } finally {
    await requests.close();
  }
}

async function createTopic(values: number): Promise<string> {
  const topic = unique("requests");
  await createKafkaTopics(admin, { topic, numPartitions: 2 });
  const messages = Array.from({ length: values }, (_, index) => ({
    value: String(index),
    partition: 0,
    timestamp: String(1_000 + index),
  }));
  if (values > 0) await producer.send({ topic, messages });
  return topic;
}

const fetchFrom = (target: RequestTarget, topicId: string, offset: number) =>
  requestFetch(
    target,
    {
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: 1_000_000,
      isolationLevel: 1,
      rackId: "",
      topics: [
        {
          topic: "any",
          partitions: [{ partition: 0, fetchOffset: String(offset), maxBytes: 1_000_000 }],
        },
      ],
    },
    new Map([["any", topicId]]),
  );

describe("metadata", () => {
  it("has an error for each topic, and none for the others", async () => {
    const topic = await createTopic(0);
    await withRequests(async (requests) => {
      const { topics, brokers, clusterId } = await requests.fetchMetadata([topic, "missing", "not a name"]);
      assert.deepEqual(
        topics.map(({ name, error }) => [name, error]).toSorted(),
        [
          [topic, 0],
          ["missing", 3],
          ["not a name", 17],
        ].toSorted(),
      );
      const found = topics.find(({ name }) => name === topic);
      assert.equal(found?.partitions.length, 2);
      assert.match(found.topicId ?? "", /^[\w-]{22}$/);
      assert.equal(topics.find(({ name }) => name === "missing")?.topicId, undefined);
      assert.equal(brokers.length, 1);
      assert.ok(clusterId);
    });
  });

  it("is that of the brokers only for no topics, and of all topics for null", async () => {
    const topic = await createTopic(0);
    await withRequests(async (requests) => {
      assert.deepEqual((await requests.fetchMetadata([])).topics, []);
      assert.ok((await requests.fetchMetadata(null)).topics.some(({ name }) => name === topic));
    });
  });

  it("is understood by a broker without topic ids, too", async () => {
    const topic = await createTopic(0);
    await withRequests(async (_, { connectionPool, versions }) => {
      const old = { connectionPool, versions: { ...versions, 3: { maxVersion: 5 } } };
      const { topics, brokers, clusterId } = await requestMetadata(old, [topic, "missing"]);
      const { brokers: known, clusterId: id } = await requestMetadata({ connectionPool, versions }, []);
      assert.deepEqual([brokers, clusterId], [known, id]);
      assert.deepEqual(
        topics.map(({ name, error, topicId, partitions }) => [name, error, topicId, partitions.length]),
        [
          [topic, 0, undefined, 2],
          ["missing", 3, undefined, 0],
        ],
      );
    });
  });
});

describe("the creation of topics", () => {
  it("says of each whether it was created, existed, or was refused and why", async () => {
    const existing = await createTopic(0);
    const added = unique("requests");
    await withRequests(async (requests) => {
      const creations = await requests.createTopics(
        [existing, added, "not a name"].map((name) => ({
          ...{ name, partitions: 3, replication: 1 },
          settings: { "retention.ms": "1000" },
        })),
      );
      const found = new Map(creations.map(({ name, ...creation }) => [name, creation]));
      assert.deepEqual(found.get(existing), { isCreated: false, refusal: undefined });
      assert.deepEqual(found.get(added), { isCreated: true, refusal: undefined });
      const { isCreated, refusal } = found.get("not a name") ?? {};
      assert.deepEqual([isCreated, refusal?.isFinal], [false, true]);
      assert.match(refusal?.reason ?? "", /not a name.*\(INVALID_TOPIC_EXCEPTION\)$/u);
      const { topics } = await requests.fetchMetadata([added]);
      assert.equal(topics[0]?.partitions.length, 3);
    });
  });
});

describe("the bounds of a topic", () => {
  it("are those of each partition, and undefined without the topic", async () => {
    const topic = await createTopic(3);
    await withRequests(async (requests) => {
      const bounds = await requests.fetchBounds(topic, "uncommitted");
      const { topics } = await requests.fetchMetadata([topic]);
      const topicId = topics[0]?.topicId;
      assert.equal(typeof topicId, "string");
      assert.deepEqual(
        [...(bounds ?? [])].toSorted(([a], [b]) => a - b),
        [
          [0, { low: 0, high: 3, topicId }],
          [1, { low: 0, high: 0, topicId }],
        ],
      );
      assert.equal(await requests.fetchBounds("missing", "committed"), undefined);
    });
  });

  it("by time begin with the first record that is not older, or with the end", async () => {
    const topic = await createTopic(3);
    await withRequests(async (requests) => {
      for (const [timestamp, expected] of [
        [0, 0],
        [1_001, 1],
        [1_003, 3],
      ] as const)
        assert.equal((await requests.findFirstSince(topic, timestamp)).get(0), expected);
    });
  });
});

describe("the log of a partition", () => {
  it("is another one once its topic was deleted and created again", async () => {
    const topic = await createTopic(3);
    const watch = broker.watch(topic);
    const before = await watch.fetchLog(0);
    assert.deepEqual([before.low, before.high], [0, 3]);
    await watch.confirmLog(0, before);
    await recreateKafkaTopic({ kafka, admin }, { topic, numPartitions: 1 });
    const after = await watch.fetchLog(0);
    assert.deepEqual([after.low, after.high], [0, 0]);
    await assert.rejects(watch.confirmLog(0, before), KafkaUnavailableError);
    await watch.confirmLog(0, after);
    await withRequests(async (_, target) => {
      const [fetched] = (await fetchFrom(target, before.topicId ?? "", 0)).topics;
      // UNKNOWN_TOPIC_ID, which kafkajs does not know.
      assert.equal(fetched?.partitions[0]?.error, 100);
      assert.equal((await fetchFrom(target, after.topicId ?? "", 0)).topics[0]?.partitions[0]?.error, 0);
      assert.equal((await fetchFrom(target, after.topicId ?? "", 5)).topics[0]?.partitions[0]?.error, 1);
    });
  });

  it("is not confirmed if another broker is known to lead it since", async () => {
    const watch = broker.watch(await createTopic(1));
    const log = await watch.fetchLog(0);
    await assert.rejects(watch.confirmLog(0, { ...log, leader: log.leader + 1 }), KafkaUnavailableError);
    await assert.rejects(
      watch.confirmLog(0, { ...log, leaderEpoch: log.leaderEpoch - 1 }),
      KafkaUnavailableError,
    );
  });
});

it("a broker without stable offsets is named as too old for the router", async () => {
  const old = {
    versions: { 9: { maxVersion: 6 } },
    connectionPool: { send: () => assert.fail("it is asked") },
  };
  await assert.rejects(requestStableOffset(old, { groupId: "g", topic: "t", partition: 0 }), {
    name: "ConfigurationError",
    message: /Kafka 2\.5/u,
  });
});
