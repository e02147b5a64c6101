/** Kafka topics of others that do not work must not concern the router. */
import assert from "node:assert/strict";
import { it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import type { TestService } from "../../support/service.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";
import { brokers } from "./brokers.ts";

const { first: own, second: others, addresses } = brokers;
const { admin, routerScene } = routerStage({ ...sharedStack(), kafka: addresses });
/** A client of its own: the requests of the other one would fail with the Kafka topics that it has used. */
const { admin: foreignAdmin } = testKafka(addresses);

const on = (topic: string, id: number, partitions = 1) => ({
  topic,
  replicaAssignment: Array.from({ length: partitions }, (_, partition) => ({ partition, replicas: [id] })),
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
    on(scene.events, own.id, 2),
    on(scene.egress, own.id, 2),
    on(scene.deadLetterTopic, own.id),
    on(announcementDeadLetters, own.id),
  );
  await foreignAdmin.connect();
  await createKafkaTopics(foreignAdmin, on(foreign, others.id));
  const first = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  await others.stop();
  await until("the foreign topic has no leader", () =>
    foreignAdmin.fetchTopicMetadata({ topics: [foreign] }).then(
      () => false,
      () => true,
    ),
  );
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
