/** docs/reliability.md, "Kafka's half": what is said at the start of Kafka topics that can lose records. */
import assert from "node:assert/strict";
import { it } from "node:test";

import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { stage } from "../../support/scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { brokers } from "./brokers.ts";

const { admin, scene } = stage({ ...sharedStack(), kafka: brokers.addresses });

it("warns about each Kafka topic that can lose what was acknowledged, with value and cure", async () => {
  const own = scene();
  const [events, egress] = [`${own.topic}.events`, `${own.topic}.egress`];
  const both = [brokers.first.id, brokers.second.id];
  await createKafkaTopics(
    admin,
    { topic: own.topic, replicaAssignment: [{ partition: 0, replicas: both }] },
    { topic: own.deadLetterTopic, replicaAssignment: [{ partition: 0, replicas: [brokers.first.id] }] },
    {
      topic: egress,
      replicaAssignment: [{ partition: 0, replicas: both }],
      configEntries: [{ name: "unclean.leader.election.enable", value: "true" }],
    },
    { topic: events, replicaAssignment: [{ partition: 0, replicas: both }] },
    { topic: `${events}.dead-letter`, replicaAssignment: [{ partition: 0, replicas: both }] },
  );
  const service = await own.start({ KAFKA_EVENTS_TOPIC: events, KAFKA_EGRESS_TOPIC: egress });
  const warnings = service.log.filter(({ msg }) => /can lose acknowledged records/.test(String(msg)));
  const found = new Map(
    warnings.map((line) => [
      line["topic"],
      [line["replicas"], line["unclean.leader.election.enable"], line["cure"]],
    ]),
  );
  assert.deepEqual(found.get(own.deadLetterTopic), [
    "1",
    undefined,
    ["add replicas with kafka-reassign-partitions.sh, 2 in all"],
  ]);
  assert.deepEqual(found.get(egress), [
    undefined,
    "true",
    [`kafka-configs.sh --alter --topic ${egress} --add-config unclean.leader.election.enable=false`],
  ]);
  for (const topic of [own.topic, events, `${events}.dead-letter`]) assert.ok(!found.has(topic), topic);
});
