import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { aclPassword, startAclBroker } from "../../support/acl-broker.ts";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { definition, waitUntilNotReady, stage, type Scene } from "../../support/scene.ts";
import { runCli, startTopicsync, type LogLine } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const { CREATE, DELETE, DESCRIBE, READ, WRITE } = AclOperationTypes;
const { TOPIC, GROUP } = AclResourceTypes;
const { LITERAL, PREFIXED } = ResourcePatternTypes;

const users = ["least", "no_group", "no_read", "hidden", "no_create", "no_letters", "creates"] as const;
const broker = await startAclBroker(users);
const { admin, producer, scene } = stage({ ...sharedStack(), kafka: broker.address });

interface Right {
  readonly type: typeof TOPIC | typeof GROUP;
  readonly name: string;
  readonly pattern?: typeof LITERAL | typeof PREFIXED;
  readonly operations: readonly (
    typeof CREATE | typeof DELETE | typeof DESCRIBE | typeof READ | typeof WRITE
  )[];
}

/** A scene on Kafka topics that exist, where the service is this user with these rights. */
async function sceneAs(
  user: (typeof users)[number],
  rightsIn: (at: Scene) => readonly Right[],
): Promise<Scene & { readonly asUser: Record<string, string> }> {
  const at = scene();
  const acl = rightsIn(at).flatMap(({ type, name, pattern = LITERAL, operations }) =>
    operations.map((operation) => ({
      resourceType: type,
      resourceName: name,
      resourcePatternType: pattern,
      principal: `User:${user}`,
      host: "*",
      operation,
      permissionType: AclPermissionTypes.ALLOW,
    })),
  );
  if (acl.length > 0) await admin.createAcls({ acl });
  const asUser = {
    ...at.settings,
    KAFKA_BROKERS: broker.guarded,
    KAFKA_SASL_MECHANISM: "plain",
    KAFKA_SASL_USERNAME: user,
    KAFKA_SASL_PASSWORD: aclPassword,
  };
  return { ...at, asUser };
}

const makeBoth = ({ topic, deadLetterTopic }: Scene): Promise<void> =>
  createKafkaTopics(admin, { topic, numPartitions: 1 }, { topic: deadLetterTopic, numPartitions: 1 });

const readAnnouncements = ({ topic }: Scene): Right => ({ type: TOPIC, name: topic, operations: [READ] });
const keepLetters = ({ deadLetterTopic: name }: Scene): Right => ({
  type: TOPIC,
  name,
  operations: [READ, WRITE],
});
const useGroups = ({ key: { group: name } }: Scene): Right => ({
  type: GROUP,
  name,
  pattern: PREFIXED,
  operations: [READ, DELETE],
});

const lastError = (log: readonly LogLine[]): string => String(log.findLast(({ level }) => level === 60)?.msg);

/** Starts a service that must end by itself with 78, and gives what it says last. */
async function rejectedAs(settings: Record<string, string>): Promise<string> {
  const service = await startTopicsync(settings);
  if (service.process.exitCode === null) await once(service.process, "exit");
  assert.equal(service.process.exitCode, 78);
  return lastError(service.log);
}

describe("a Kafka user with access rules", () => {
  it("needs no more rights than the documented ones", async () => {
    const at = await sceneAs("least", (one) => [readAnnouncements(one), keepLetters(one), useGroups(one)]);
    await makeBoth(at);
    const one = definition("one");
    await producer.send({
      topic: at.topic,
      messages: [{ value: "not json" }, { key: one.externalId, value: JSON.stringify(one) }],
    });
    const service = await startTopicsync(at.asUser);
    await service.ready();
    await at.reached(2);
    assert.equal(await at.count(), 1);
    assert.ok(service.log.some(({ msg }) => msg?.startsWith("topic settings not checked")));
    const listed = await runCli(["dead-letters", "list"], at.asUser);
    assert.match(listed.output, /MALFORMED_JSON/);
    const status = await runCli(["status"], at.asUser);
    assert.equal(status.code, 0, status.errors);
    assert.equal(await service.stop(), 0);
  });

  it("creates the Kafka topics if it may", async () => {
    const at = await sceneAs("creates", (one) => {
      const create = { type: TOPIC, operations: [CREATE] } as const;
      return [
        ...[one.topic, one.deadLetterTopic].map((name) => ({ ...create, name })),
        ...[readAnnouncements(one), keepLetters(one), useGroups(one)],
      ];
    });
    const service = await startTopicsync(at.asUser);
    await service.ready();
    assert.equal(await service.stop(), 0);
  });

  it("ends the service with the group that it may not use", async () => {
    const at = await sceneAs("no_group", (one) => [readAnnouncements(one), keepLetters(one)]);
    await makeBoth(at);
    assert.match(
      await rejectedAs(at.asUser),
      new RegExp(`Read on group "${at.key.group}" .*GROUP_AUTHORIZATION`),
    );
  });

  it("ends the service with the topic that it may see and not read", async () => {
    const describeOnly = ({ topic: name }: Scene): Right => ({ type: TOPIC, name, operations: [DESCRIBE] });
    const at = await sceneAs("no_read", (one) => [describeOnly(one), keepLetters(one), useGroups(one)]);
    await makeBoth(at);
    await at.announce(0, 1);
    assert.match(
      await rejectedAs(at.asUser),
      new RegExp(`Read on topic "${at.topic}" .*TOPIC_AUTHORIZATION`),
    );
  });

  it("ends the service with the topic that exists and is hidden from it", async () => {
    const create = ({ topic: name }: Scene): Right => ({ type: TOPIC, name, operations: [CREATE] });
    const at = await sceneAs("hidden", (one) => [create(one), keepLetters(one), useGroups(one)]);
    await makeBoth(at);
    assert.match(await rejectedAs(at.asUser), new RegExp(`Describe on topic "${at.topic}"`));
  });

  it("ends the service with the topics that it may not create", async () => {
    const at = await sceneAs("no_create", (one) => [
      readAnnouncements(one),
      keepLetters(one),
      useGroups(one),
    ]);
    const said = await rejectedAs(at.asUser);
    assert.match(said, new RegExp(`topic "${at.topic}", topic "${at.deadLetterTopic}", and Create`));
  });

  it("pauses the sync with the right that a dead letter needs, until it is granted", async () => {
    const readLetters = ({ deadLetterTopic: name }: Scene): Right => ({
      type: TOPIC,
      name,
      operations: [READ],
    });
    const at = await sceneAs("no_letters", (one) => [
      readAnnouncements(one),
      readLetters(one),
      useGroups(one),
    ]);
    await makeBoth(at);
    await producer.send({ topic: at.topic, messages: [{ value: "not json" }] });
    const service = await startTopicsync(at.asUser);
    await waitUntilNotReady(service, "consumer", new RegExp(`Write on topic "${at.deadLetterTopic}"`));
    await admin.createAcls({
      acl: [
        {
          resourceType: TOPIC,
          resourceName: at.deadLetterTopic,
          resourcePatternType: LITERAL,
          principal: "User:no_letters",
          host: "*",
          operation: WRITE,
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
    await at.reached(1);
    assert.equal(await at.deadLetters(), 1);
    assert.equal(await service.stop(), 0);
  });
});
