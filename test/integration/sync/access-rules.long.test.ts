import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import {
  CREATE,
  createBothTopics,
  DESCRIBE,
  PREFIXED,
  READ,
  readAnnouncements,
  readDeadLetters,
  stageWithRights,
  TOPIC,
  TRANSACTIONAL_ID,
  useGroups,
  WRITE,
  writeDeadLetters,
  type Right,
} from "../../support/access-rules.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, waitUntilNotReady, type Scene } from "../../support/scene.ts";
import { beside, runCli, startTopicsync, startTopicsyncHere } from "../../support/service.ts";

const { admin, producer, grant, createSceneAs } = await stageWithRights([
  "least",
  "no_group",
  "no_read",
  "hidden",
  "no_create",
  "no_letters",
  "creates",
  "routes",
  "writes",
]);

/** Starts a service that must exit with 78, and returns the message of its fatal error. */
async function getFatalError(settings: Record<string, string>): Promise<string> {
  const service = await startTopicsync(settings);
  if (service.process.exitCode === null) await once(service.process, "exit");
  assert.equal(service.process.exitCode, 78);
  return String(service.log.findLast(({ level }) => level === 60)?.msg);
}

describe("a Kafka user with access rules", () => {
  it("needs only the documented rights", async () => {
    const at = await createSceneAs("least", (one) => [
      readAnnouncements(one),
      readDeadLetters(one),
      writeDeadLetters(one),
      useGroups(one),
    ]);
    await createBothTopics(at);
    const one = definition("one");
    await producer.send({
      topic: at.topic,
      messages: [{ value: "not json" }, { key: one.externalId, value: JSON.stringify(one) }],
    });
    const service = await at.start(at.asUser);
    await at.reached(2);
    assert.equal(await at.count(), 1);
    assert.ok(service.log.some(({ msg }) => msg?.startsWith("topic settings not checked")));
    assert.ok(service.log.some(({ msg }) => msg?.startsWith("kafka password or token sent without TLS")));
    const listed = await runCli(["dead-letters", "list"], at.asUser);
    assert.match(listed.output, /MALFORMED_JSON/);
    const status = await runCli(["status"], { ...at.asUser, ...beside(service) });
    assert.equal(status.code, 0, status.errors);
    assert.equal(await service.stop(), 0);
  });

  it("needs only the documented rights to forward events", async () => {
    const events = unique("events");
    const at = await createSceneAs("routes", (one) => [
      readAnnouncements(one),
      readDeadLetters(one),
      writeDeadLetters(one),
      useGroups(one),
      { type: TOPIC, name: events, operations: [READ] },
      { type: TOPIC, name: `${events}.dead-letter`, operations: [WRITE] },
      { type: TOPIC, name: `${events}.to.`, pattern: PREFIXED, operations: [WRITE, CREATE] },
      { type: TRANSACTIONAL_ID, name: `${one.key.group}.router`, pattern: PREFIXED, operations: [WRITE] },
    ]);
    await createBothTopics(at);
    await createKafkaTopics(
      admin,
      { topic: events, numPartitions: 1 },
      { topic: `${events}.dead-letter`, numPartitions: 1 },
    );
    const service = await at.start({
      ...at.asUser,
      KAFKA_EVENTS_TOPIC: events,
      KAFKA_EGRESS_TOPIC: `${events}.to.{externalId}`,
      KAFKA_EGRESS_CREATE: "true",
    });
    const topic = { ...definition("one"), contentQuery: "" };
    await at.send(topic);
    await at.stored(1);
    await producer.send({
      topic: events,
      messages: [{ value: "no event" }, { value: JSON.stringify({ eventType: "ResourceCreateEvent" }) }],
    });
    await until("the event is forwarded, and the other record is a dead letter", async () => {
      const [copies] = await admin.fetchTopicOffsets(`${events}.to.one`);
      const [letters] = await admin.fetchTopicOffsets(`${events}.dead-letter`);
      return Number(copies?.high) > 0 && Number(letters?.high) > 0;
    });
    assert.equal(await service.stop(), 0);
  });

  it("creates the Kafka topics if it is allowed to", async () => {
    const at = await createSceneAs("creates", (one) => {
      const create = { type: TOPIC, operations: [CREATE] } as const;
      return [
        ...[one.topic, one.deadLetterTopic].map((name) => ({ ...create, name })),
        ...[readAnnouncements(one), readDeadLetters(one), writeDeadLetters(one), useGroups(one)],
      ];
    });
    const service = await at.start(at.asUser);
    assert.equal(await service.stop(), 0);
  });

  it("stops the service with an error that names the group it must not use", async () => {
    const at = await createSceneAs("no_group", (one) => [
      readAnnouncements(one),
      readDeadLetters(one),
      writeDeadLetters(one),
    ]);
    await createBothTopics(at);
    assert.match(
      await getFatalError(at.asUser),
      new RegExp(`Read on group "${at.key.group}" .*GROUP_AUTHORIZATION`),
    );
  });

  it("stops the service with an error that names the topic it can describe but not read", async () => {
    const describeOnly = ({ topic: name }: Scene): Right => ({ type: TOPIC, name, operations: [DESCRIBE] });
    const at = await createSceneAs("no_read", (one) => [
      describeOnly(one),
      readDeadLetters(one),
      writeDeadLetters(one),
      useGroups(one),
    ]);
    await createBothTopics(at);
    await at.announce(0, 1);
    assert.match(
      await getFatalError(at.asUser),
      new RegExp(`Read on topic "${at.topic}" .*TOPIC_AUTHORIZATION`),
    );
  });

  it("stops the service with an error that names the existing topic it cannot describe", async () => {
    const create = ({ topic: name }: Scene): Right => ({ type: TOPIC, name, operations: [CREATE] });
    const at = await createSceneAs("hidden", (one) => [
      create(one),
      readDeadLetters(one),
      writeDeadLetters(one),
      useGroups(one),
    ]);
    await createBothTopics(at);
    assert.match(await getFatalError(at.asUser), new RegExp(`Describe on topic "${at.topic}"`));
  });

  it("stops the service with an error that names the topics it must not create", async () => {
    const at = await createSceneAs("no_create", (one) => [
      readAnnouncements(one),
      readDeadLetters(one),
      writeDeadLetters(one),
      useGroups(one),
    ]);
    const message = await getFatalError(at.asUser);
    assert.match(message, new RegExp(`topic "${at.topic}", topic "${at.deadLetterTopic}", and Create`));
  });

  it("ends a command that needs stored dead letters, with the right that is missing", async () => {
    const at = await createSceneAs("writes", (one) => [writeDeadLetters(one), useGroups(one)]);
    await createBothTopics(at);
    await producer.send({ topic: at.deadLetterTopic, messages: [{ value: "a dead letter" }] });
    const { code, errors } = await runCli(["dead-letters", "list"], at.asUser);
    assert.equal(code, 69, errors);
    assert.match(errors, /are still being read, 1 are left: Kafka denies its user Read on topic "[^"]*dead/);
  });

  it("pauses the sync until the right to write dead letters is granted", async () => {
    const at = await createSceneAs("no_letters", (one) => [
      readAnnouncements(one),
      readDeadLetters(one),
      useGroups(one),
    ]);
    await createBothTopics(at);
    await producer.send({ topic: at.topic, messages: [{ value: "not json" }] });
    const service = await startTopicsyncHere(at.asUser);
    await waitUntilNotReady(service, "consumer", new RegExp(`Write on topic "${at.deadLetterTopic}"`));
    await grant("no_letters", [writeDeadLetters(at)]);
    await at.reached(1);
    assert.equal(await at.deadLetters(), 1);
    assert.equal(await service.stop(), 0);
  });
});
