/**
 * Failing over to a mirror: another Kafka cluster with the same Kafka topics and other offsets, which lacks
 * what was written last. Measures what is lost and repeated.
 */
import assert from "node:assert/strict";
import { it } from "node:test";

import { toIHeaders } from "@topicsync/kafka/internals";
import { createKafkaTopics } from "../../support/kafka-topics.ts";
import { startOwnBroker } from "../../support/own-stack.ts";
import { until } from "../../support/poll.ts";
import {
  createEvent,
  defineTopic,
  getText,
  routerStage,
  type ReadRecord,
  type RouterScene,
} from "../../support/router-scene.ts";
import { definition, getSyncStatus } from "../../support/scene.ts";
import { runCli, startTopicsyncHere, type TestService } from "../../support/service.ts";
import { sharedStack, testKafka } from "../../support/stack.ts";

const [first, second] = await Promise.all([startOwnBroker(), startOwnBroker()]);
const original = routerStage({ ...sharedStack(), kafka: first.address });
const mirrored = routerStage({ ...sharedStack(), kafka: second.address });
const { admin, producer } = testKafka(second.address);
await Promise.all([admin.connect(), producer.connect()]);

const startOfTime = Date.now() - 24 * 60 * 60 * 1_000;
const toTime = (n: number): string => String(startOfTime + n * 1_000);
const events = 100;
/** The mirror lost the first ones by retention, and did not get the last ones. */
const mirroredEvents = { from: 20, to: 90 };
const mirroredCopies = { from: 0, to: 85 };
/** Where the router begins: some time before the last event that the mirror has. */
const firstForwardedAgain = 80;

/** The number of an event, also in a copy. */
const toNumber = ({ value }: ReadRecord): number =>
  (JSON.parse(String(value)) as { event: { number: number } }).event.number;

/** Copies records as tools for mirrors do: with key, value, headers, timestamp and partition. */
async function mirror(topic: string, records: readonly ReadRecord[]): Promise<void> {
  await producer.send({
    topic,
    messages: records.map(({ key, value, headers, timestamp, partition }) => ({
      ...{ key, value, timestamp, partition },
      headers: toIHeaders(headers),
    })),
  });
}

/** Announces definitions, with the number of a second as the timestamp. */
const announce = (scene: RouterScene, ids: readonly number[], name: string, second: number) =>
  original.producer.send({
    topic: scene.topic,
    messages: ids.map((id) => {
      const one = definition(`id-${id}`, name);
      return { key: one.externalId, value: JSON.stringify(one), timestamp: toTime(second) };
    }),
  });

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** Fills the original, and waits until everything is applied and forwarded. */
async function fill(scene: RouterScene): Promise<void> {
  const all = defineTopic("all", "eventType=E");
  const value = JSON.stringify(all);
  await original.producer.send({
    topic: scene.topic,
    messages: [{ key: all.externalId, value, timestamp: toTime(0) }],
  });
  await announce(scene, range(0, 10), "First", 0);
  await announce(scene, range(0, 50), "Second", 1);
  await scene.stored(51);
  await scene.produce(
    ...range(0, events).map((number) => ({
      value: createEvent("E", { number }),
      partition: number % 2,
      timestamp: toTime(number),
    })),
  );
  // What the mirror will lack.
  await announce(scene, range(0, 5), "Third", 200);
  await announce(scene, range(50, 53), "New", 200);
  await Promise.all([scene.caughtUp(), scene.routed()]);
}

/** Mirrors what was written until some moment. Of the announcements, compaction has left the last ones. */
async function fillMirror(scene: RouterScene): Promise<void> {
  await createKafkaTopics(
    admin,
    { topic: scene.topic, configEntries: [{ name: "cleanup.policy", value: "compact" }] },
    { topic: scene.events, numPartitions: 2 },
    { topic: scene.egress },
  );
  const announced = await scene.readAll(scene.topic);
  const wanted = announced.filter(({ value, timestamp }) => {
    const { name } = JSON.parse(String(value)) as { name: string };
    return Number(timestamp) < Number(toTime(100)) && !name.startsWith("First");
  });
  await mirror(scene.topic, wanted);
  for (const [topic, { from, to }] of [
    [scene.events, mirroredEvents],
    [scene.egress, mirroredCopies],
  ] as const) {
    const records = await scene.readAll(topic);
    const kept = records.filter((record) => toNumber(record) >= from && toNumber(record) < to);
    await mirror(
      topic,
      kept.toSorted((a, b) => a.offset - b.offset),
    );
  }
}

/** Waits until the partitions of the service wait for a person. */
const waitUntilElsewhere = (service: TestService) =>
  until("every partition with records waits for a decision", async () => {
    const { partitions, router } = await getSyncStatus(service);
    return [...partitions, ...(router?.partitions ?? [])].every(({ cause }) => cause === "decision");
  });

const names = async (scene: RouterScene): Promise<ReadonlyMap<string, string>> =>
  new Map((await scene.topics.find().toArray()).map((topic) => [topic.topic_id, topic.topic_name]));

it("fails over to a mirror on command, and back, losing only what the mirror lacks", async (t) => {
  const scene = original.routerScene();
  await createKafkaTopics(original.admin, { topic: scene.events, numPartitions: 2 }, { topic: scene.egress });
  const before = await scene.start();
  await fill(scene);
  await fillMirror(scene);
  const there = { KAFKA_BROKERS: second.address };
  const set = async (...args: string[]) => {
    const { code, errors, output } = await runCli(["positions", "set", ...args], {
      ...scene.settings,
      ...there,
    });
    assert.equal(code, 0, errors);
    return output;
  };

  // A first instance is started with the new address while others still read the original.
  const after = await scene.start(there);
  await waitUntilElsewhere(after);
  await announce(scene, [53], "New", 201);
  await scene.caughtUp();
  assert.equal(before.log.filter(({ msg }) => /moved by another consumer/.test(String(msg))).length, 0);
  assert.equal((await getSyncStatus(before)).partitions[0]?.state, "reading");
  const stored = await names(scene);
  assert.equal(stored.size, 55);

  await before.stop();
  await first.stop();
  const startedAt = performance.now();
  const time = new Date(Number(toTime(firstForwardedAgain))).toISOString();
  const planned = await set("events", "--to-time", time, "--dry-run");
  assert.match(planned, /another log: reads 5 of its records, not the 30 before/);
  await waitUntilElsewhere(after);
  await set("events", "--to-time", time);
  await set("announcements", "--to-time", time);
  const copy = mirrored.routerScene({ ...scene.settings, ...there });
  const readCopies = async () => (await copy.readAll(scene.egress)).map(toNumber);
  await until("the mirror is read to its end", async () => {
    const status = await getSyncStatus(after);
    return [...status.partitions, ...(status.router?.partitions ?? [])].every(
      ({ state, lagRecords }) => state === "reading" && lagRecords === 0,
    );
  });
  const tookMs = Math.round(performance.now() - startedAt);

  const copies = await readCopies();
  const counts = new Map(
    range(0, events).map((number) => [number, copies.filter((one) => one === number).length]),
  );
  const lost = [...counts].filter(([, count]) => count === 0).map(([number]) => number);
  const repeated = [...counts].filter(([, count]) => count > 1).map(([number]) => number);
  t.diagnostic(`lost ${lost.length}, repeated ${repeated.length} of ${events} events, in ${tookMs} ms`);
  assert.deepEqual(lost, range(mirroredEvents.to, events));
  assert.deepEqual(repeated, range(firstForwardedAgain, mirroredCopies.to));
  // Nothing that was stored is lost, and nothing was changed back.
  assert.deepEqual(await names(scene), stored);

  // The mirror is the original now.
  await producer.send({
    topic: scene.events,
    messages: [{ partition: 1, value: JSON.stringify(createEvent("E", { number: events })) }],
  });
  const added = definition("id-60");
  await producer.send({
    topic: scene.topic,
    messages: [{ key: added.externalId, value: JSON.stringify(added) }],
  });
  await until("the new event is forwarded", async () => (await readCopies()).includes(events));
  await until("the new topic is stored", async () => (await names(scene)).has("id-60"));
  const ids = (await copy.readAll(scene.egress)).map((one) => getText(one, "topicsync.event"));
  assert.equal(new Set(ids).size, ids.length, "an id stands for two copies");

  // Read from its beginning, the mirror changes back what it does not have the last change of.
  await set("announcements", "--beginning");
  await until("the older definitions are back", async () => {
    const found = await names(scene);
    return range(0, 5).every((id) => found.get(`id-${id}`)?.startsWith("Second") === true);
  });
  assert.deepEqual([...(await names(scene)).keys()].toSorted(), [...stored.keys(), "id-60"].toSorted());

  await after.stop();
  await first.start();
  const back = await scene.start();
  await until("the announcements wait for a decision", async () => {
    const { partitions } = await getSyncStatus(back);
    return partitions.every(({ cause }) => cause === "decision");
  });
  // The router has its position in the original itself.
  await until("the router reads", async () => {
    const { router } = await getSyncStatus(back);
    return (
      router?.partitions.every(({ state, lagRecords }) => state === "reading" && lagRecords === 0) === true
    );
  });
  const { code, errors } = await runCli(["positions", "set", "announcements", "--end"], scene.settings);
  assert.equal(code, 0, errors);
  await announce(scene, [61], "New", 300);
  await until("the original is read again", async () => (await names(scene)).has("id-61"));
  const { source } = (await scene.topics.findOne({ topic_id: "id-61" })) ?? {};
  assert.equal((source as { epoch?: number }).epoch, 3);
});

it("follows an embedded broker whose data were deleted, which needs no person", async () => {
  const scene = original.routerScene();
  const settings = Object.fromEntries(
    Object.entries(scene.settings).filter(([name]) => name !== "KAFKA_BROKERS"),
  );
  await createKafkaTopics(original.admin, { topic: scene.topic }, { topic: scene.events });
  const before = await startTopicsyncHere(settings, [first.address]);
  await before.ready();
  await announce(scene, range(0, 3), "Before", 0);
  await scene.produce({ value: createEvent("E", { number: 0 }) });
  await until("the topics are stored", async () => (await scene.count()) === 3);
  await scene.routed();
  await before.stop();

  await createKafkaTopics(admin, { topic: scene.topic }, { topic: scene.events });
  // Before the service starts, so that nothing but the broker itself says that it is new.
  const added = definition("added");
  await producer.send({
    topic: scene.topic,
    messages: [{ key: added.externalId, value: JSON.stringify(added) }],
  });
  await producer.send({ topic: scene.events, messages: [{ value: JSON.stringify(createEvent("E")) }] });
  const after = await startTopicsyncHere(settings, [second.address]);
  await after.ready();
  await until("the new log is read", async () => (await names(scene)).has("added"));
  await until("the router reads", async () => {
    const { router } = await getSyncStatus(after);
    return router?.partitions[0]?.state === "reading" && router.partitions[0].lagRecords === 0;
  });
});
