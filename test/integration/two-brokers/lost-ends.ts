/** Kafka 4 completes a transaction without its end where a partition has no leader (KAFKA-20734). */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";

import { Partitioners, type Producer } from "kafkajs";

import {
  type RequestTarget,
  requestOpenPartitions,
  createRequests,
  createCluster,
} from "@topicsync/kafka/internals";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { withCluster } from "../../support/kafkajs-cluster.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage, type RouterScene } from "../../support/router-scene.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";
import { brokers } from "./brokers.ts";

const { first, second, addresses } = brokers;
const { admin, routerScene } = routerStage({ ...sharedStack(), kafka: addresses });
const { kafka, admin: observer } = testKafka(addresses);
const requests = createRequests(() => createCluster(kafka, () => undefined));
before(() => observer.connect());
after(() => Promise.all([observer.disconnect(), requests.close()]));

const offsets = "__consumer_offsets";

/** Whether all partitions of Kafka's own topic of offsets have a leader, which is then this broker. */
const isLedBy = async (id: number): Promise<boolean> => {
  const { topics } = await observer.fetchTopicMetadata({ topics: [offsets] });
  return topics.every(({ partitions }) => partitions.every(({ leader }) => leader === id));
};

interface Names {
  readonly groupId: string;
  readonly events: string;
  readonly egress: string;
}

/** Does what a router does, and lets the second broker stop before the transaction ends. */
async function forwardAndLoseEnd(
  producer: Producer,
  { groupId, events, egress }: Names,
  { count, leaderless, commits }: { count: number; leaderless: string; commits: boolean },
): Promise<void> {
  const transaction = await producer.transaction();
  // A broker that has just become the coordinator of a group may refuse its offsets for a while.
  await until("the coordinator accepts the offsets", async () => {
    await transaction.sendOffsets({
      consumerGroupId: groupId,
      topics: [{ topic: events, partitions: [{ partition: 0, offset: String(count) }] }],
    });
    return true;
  });
  const copies = Array.from({ length: count }, (_, offset) => ({
    partition: offset % 2,
    value: "{}",
    headers: { "topicsync.topic": "all", "topicsync.event": `${events}-0-${offset}` },
  }));
  await transaction.send({ topic: egress, messages: copies });
  await second.stop();
  await until(`${leaderless} has no leader`, async () => {
    const { topics } = await requests.fetchMetadata([leaderless]);
    return (topics[0]?.partitions.at(-1)?.leader ?? 0) < 0;
  });
  await (commits ? transaction.commit() : transaction.abort());
  await second.start();
}

const on = (topic: string, ...leaders: number[]) => ({
  topic,
  replicaAssignment: leaders.map((id, partition) => ({ partition, replicas: [id] })),
});

const createEvents = (count: number) => Array.from({ length: count }, () => ({ value: createEvent("E") }));

/** Lets the former router of a scene lose the end of its only transaction, with a copy of each event. */
async function loseEnd(
  scene: RouterScene,
  options: { readonly leaderless: string; readonly commits: boolean },
): Promise<void> {
  await createKafkaTopics(
    admin,
    on(scene.topic, first.id),
    on(scene.events, first.id),
    on(scene.egress, first.id, second.id),
    on(scene.deadLetterTopic, first.id),
  );
  await scene.produce(...createEvents(6));
  const producer = kafka.producer({
    transactionalId: `${scene.groupId}-${scene.events}-0`,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  try {
    await forwardAndLoseEnd(producer, scene, { count: 6, ...options });
  } finally {
    await producer.disconnect();
  }
}

for (const commits of [true, false])
  it(`ends a ${commits ? "committed" : "aborted"} transaction that has lost its end in an egress partition only`, async () => {
    const scene = routerScene();
    await loseEnd(scene, { leaderless: scene.egress, commits });
    await until("the egress partition has a leader again", async () => {
      const [{ partitions } = { partitions: [] }] = (await requests.fetchMetadata([scene.egress])).topics;
      return partitions.every(({ leader }) => leader >= 0);
    });
    const service = await scene.start();
    await scene.send(defineTopic("all", "eventType=E"));
    await scene.stored(1);
    await scene.routed();
    // Also what was there before is seen, although nothing else was written to the partition.
    await scene.assertForwarded(["all"], [6]);
    assert.ok(service.log.some(({ msg }) => msg?.startsWith("Kafka had lost the end of a transaction")));
    assert.equal(await service.stop(), 0);
  });

it("goes on after a transaction whose end Kafka has lost, and forwards each event once", async () => {
  await observer.alterPartitionReassignments({
    topics: [{ topic: offsets, partitionAssignment: [{ partition: 0, replicas: [second.id] }] }],
  });
  await until("the second broker has the offsets", () => isLedBy(second.id));
  const scene = routerScene();
  await loseEnd(scene, { leaderless: offsets, commits: true });
  await until("the second broker leads again", () => isLedBy(second.id));

  const service = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  await scene.produce(...createEvents(4));
  await scene.routed();
  await scene.assertForwarded(["all"], [10]);
  assert.equal(await service.stop(), 0);
});

it("does not take a broker that is no leader for one without open transactions", async () => {
  const scene = routerScene();
  await createKafkaTopics(admin, on(scene.events, first.id));
  const ask = (nodeId: number, topic: string) =>
    withCluster(kafka, async (cluster) => {
      await cluster.refreshMetadata();
      const broker = (await cluster.findBroker({ nodeId })) as unknown as RequestTarget;
      const producer = { producerId: "1", minEpoch: -1 };
      return requestOpenPartitions(broker, [{ topic, partitions: [0] }], producer);
    });
  const nothing = { open: [], denied: [] };
  assert.deepEqual(await ask(first.id, scene.events), nothing);
  assert.deepEqual(await ask(first.id, `${scene.events}-deleted`), nothing);
  await assert.rejects(ask(second.id, scene.events), { type: "NOT_LEADER_FOR_PARTITION" });
});
