/** Kafka 4 completes a transaction without its end where a partition has no leader (KAFKA-20734). */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";

import { Partitioners, type Producer } from "kafkajs";

import type { RequestTarget } from "../../../src/kafka/protocol/request.ts";
import { requestOpenPartitions } from "../../../src/kafka/protocol/transactions.ts";
import { createRequests } from "../../../src/kafka/requests.ts";
import { createCluster } from "../../../src/kafka/workarounds/clusters.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { withCluster } from "../../support/kafkajs-cluster.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
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

/** Does what a router does, and lets the second broker stop before it commits. */
async function forwardAndLoseEnd(
  producer: Producer,
  { groupId, events, egress }: { readonly groupId: string; readonly events: string; readonly egress: string },
  count: number,
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
  await until("the offsets have no leader", async () => {
    const { topics } = await requests.fetchMetadata([offsets]);
    return topics.every(({ partitions }) => partitions.every(({ leader }) => leader < 0));
  });
  await transaction.commit();
  await second.start();
}

it("goes on after a transaction whose end Kafka has lost, and forwards each event once", async () => {
  const scene = routerScene();
  const on = (topic: string, ...leaders: number[]) => ({
    topic,
    replicaAssignment: leaders.map((id, partition) => ({ partition, replicas: [id] })),
  });
  await createKafkaTopics(
    admin,
    on(scene.topic, first.id),
    on(scene.events, first.id),
    on(scene.egress, first.id, second.id),
    on(scene.deadLetterTopic, first.id),
  );
  await observer.alterPartitionReassignments({
    topics: [{ topic: offsets, partitionAssignment: [{ partition: 0, replicas: [second.id] }] }],
  });
  await until("the second broker has the offsets", () => isLedBy(second.id));
  const events = (count: number) => Array.from({ length: count }, () => ({ value: createEvent("E") }));
  await scene.produce(...events(6));
  const producer = kafka.producer({
    transactionalId: `${scene.groupId}-${scene.events}-0`,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  try {
    await forwardAndLoseEnd(producer, scene, 6);
  } finally {
    await producer.disconnect();
  }
  await until("the second broker leads again", () => isLedBy(second.id));

  const service = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  await scene.produce(...events(4));
  await scene.routed();
  await scene.assertForwarded(["all"], [10]);
  assert.equal(await service.stop(), 0);
});

it("does not take a broker that is no leader for one without open transactions", async () => {
  const scene = routerScene();
  await createKafkaTopics(admin, {
    topic: scene.events,
    replicaAssignment: [{ partition: 0, replicas: [first.id] }],
  });
  const ask = (nodeId: number, topic: string) =>
    withCluster(kafka, async (cluster) => {
      await cluster.refreshMetadata();
      const broker = (await cluster.findBroker({ nodeId })) as unknown as RequestTarget;
      return requestOpenPartitions(broker, [{ topic, partitions: [0] }], "1");
    });
  assert.deepEqual(await ask(first.id, scene.events), []);
  assert.deepEqual(await ask(first.id, `${scene.events}-deleted`), []);
  await assert.rejects(ask(second.id, scene.events), { type: "NOT_LEADER_FOR_PARTITION" });
});
