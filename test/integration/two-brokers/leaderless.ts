/** A partition without a leader stops what reads and writes it, and nothing else. */
import assert from "node:assert/strict";
import { before, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { getSyncStatus } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";
import { brokers } from "./brokers.ts";

const { first: own, second: others, addresses } = brokers;
const { admin, routerScene } = routerStage({ ...sharedStack(), kafka: addresses });
/** A client of its own: the requests of the other one would fail with the Kafka topics that it has used. */
const { admin: foreignAdmin } = testKafka(addresses);
before(() => foreignAdmin.connect());

const on = (topic: string, ...leaders: number[]) => ({
  topic,
  replicaAssignment: leaders.map((id, partition) => ({ partition, replicas: [id] })),
});

/** Waits until the last partition of a Kafka topic has no leader. */
const untilLeaderless = (topic: string): Promise<unknown> =>
  until(`${topic} has no leader`, async () => {
    const { topics } = await foreignAdmin.fetchTopicMetadata({ topics: [topic] });
    return (topics[0]?.partitions.at(-1)?.leader ?? 0) < 0;
  });

/** The partitions of the events topic that an instance reads. */
const getAssigned = ({ log }: TestService): readonly number[] => {
  const last = log.findLast((line) => line.msg === "partitions assigned" && line["component"] === "router");
  return (last?.["partitions"] as number[] | undefined) ?? [];
};

it("starts another instance and forwards events while a Kafka topic of others has no leader", async () => {
  const announcementDeadLetters = unique("dead-letter");
  const scene = routerScene({ KAFKA_DEAD_LETTER_TOPIC: announcementDeadLetters });
  const foreign = unique("foreign");
  await createKafkaTopics(
    admin,
    on(scene.topic, own.id),
    on(scene.events, own.id, own.id),
    on(scene.egress, own.id, own.id),
    on(scene.deadLetterTopic, own.id),
    on(announcementDeadLetters, own.id),
  );
  await createKafkaTopics(foreignAdmin, on(foreign, others.id));
  const first = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  await others.stop();
  await untilLeaderless(foreign);
  let produced = 0;
  const produce = async (): Promise<void> => {
    await scene.produce(...[0, 1].map((partition) => ({ partition, value: createEvent("E") })));
    produced += 1;
  };
  await produce();
  await scene.routed();
  const second = await scene.start();
  await until("both instances read a partition", async () => {
    await produce();
    return [first, second].every((service) => getAssigned(service).length === 1);
  });
  await produce();
  await scene.routed();
  await scene.assertForwarded(["all"], [produced, produced]);
  for (const service of [first, second]) assert.equal(await service.stop(), 0);
  // The clients of the test do not disconnect without it.
  await others.start();
});

it("reads and forwards what has a leader while another partition of the same Kafka topics has none", async () => {
  const announcementDeadLetters = unique("dead-letter");
  const scene = routerScene({ KAFKA_DEAD_LETTER_TOPIC: announcementDeadLetters });
  await createKafkaTopics(
    admin,
    on(scene.topic, own.id),
    on(scene.events, own.id, others.id),
    on(scene.egress, own.id, others.id),
    on(scene.deadLetterTopic, own.id),
    on(announcementDeadLetters, own.id),
  );
  const service = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  const produce = (partition: number) => scene.produce({ partition, value: createEvent("E") });
  await produce(0);
  await produce(1);
  await scene.routed();
  await others.stop();
  await untilLeaderless(scene.events);

  await produce(0);
  // The ends of partitions without a leader are not compared.
  await scene.routed();
  const expected = [
    [0, "reading", null, 0],
    [1, "paused", "the partition has no leader", null],
  ];
  await until("the status names the partition that is not read", async () => {
    const { partitions = [] } = (await getSyncStatus(service)).router ?? {};
    const found = partitions.map((one) => [one.partition, one.state, one.reason, one.lagRecords]);
    return isDeepStrictEqual(found, expected);
  });
  await others.start();
  await until("the other partition accepts an event", () =>
    produce(1).then(
      () => true,
      () => false,
    ),
  );
  await scene.routed();
  await scene.assertForwarded(["all"], [2, 2]);
  assert.equal(await service.stop(), 0);
});
