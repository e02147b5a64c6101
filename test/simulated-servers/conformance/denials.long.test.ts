/** The errors of a real broker with access control, as the product reads them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import kafkajs, { type Kafka } from "kafkajs";

import { findDenial, throwGroupDenials } from "@topicsync/kafka/internals";
import { aclPassword, startAclBroker } from "../../support/acl-broker.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { testKafka } from "../../support/stack.ts";

const user = "nobody";
const topic = "guarded";
const { address, guarded } = await startAclBroker([user]);

describe("requests that a real broker denies", () => {
  let kafka: Kafka;
  const resources = new AsyncDisposableStack();
  after(() => resources.disposeAsync());

  before(async () => {
    const { admin } = testKafka(address);
    await admin.connect();
    await createKafkaTopics(admin, { topic, numPartitions: 1 });
    kafka = new kafkajs.Kafka({
      brokers: [guarded],
      sasl: { mechanism: "plain", username: user, password: aclPassword },
      logLevel: kafkajs.logLevel.NOTHING,
      retry: { retries: 0 },
    });
    throwGroupDenials(kafka);
  });

  const getDenial = (request: Promise<unknown>): Promise<string | undefined> =>
    request.then(() => "none", findDenial);

  function createProducer(transactionalId?: string) {
    const producer = kafka.producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      ...(transactionalId === undefined ? {} : { transactionalId }),
    });
    resources.defer(() => producer.disconnect());
    return producer;
  }

  it("names the topic", async () => {
    const producer = createProducer();
    await producer.connect();
    const sent = producer.send({ topic, messages: [{ value: "a" }] });
    assert.equal(await getDenial(sent), "TOPIC_AUTHORIZATION_FAILED");
  });

  it("names the topic to be created", async () => {
    const admin = kafka.admin();
    resources.defer(() => admin.disconnect());
    await admin.connect();
    const created = admin.createTopics({ topics: [{ topic: "new" }] });
    assert.equal(await getDenial(created), "TOPIC_AUTHORIZATION_FAILED");
  });

  it("names the group", async () => {
    const admin = kafka.admin();
    resources.defer(() => admin.disconnect());
    await admin.connect();
    // kafkajs asks no broker for a coordinator before it has metadata.
    await admin.listTopics();
    assert.equal(await getDenial(admin.fetchOffsets({ groupId: "g" })), "GROUP_AUTHORIZATION_FAILED");
  });

  it("names the transactional id", async () => {
    const producer = createProducer("t");
    await producer.connect();
    assert.equal(await getDenial(producer.transaction()), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED");
  });

  it("names the cluster", async () => {
    const admin = kafka.admin();
    resources.defer(() => admin.disconnect());
    await admin.connect();
    assert.equal(await getDenial(admin.listPartitionReassignments({})), "CLUSTER_AUTHORIZATION_FAILED");
  });
});
