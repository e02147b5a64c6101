/**
 * Which log of the events topic the router reads, and where it continues, whatever Kafka or a person does to
 * it.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { createKafkaTopics, recreateKafkaTopic } from "../../support/kafka-topics.ts";
import { until } from "../../support/poll.ts";
import {
  createEvent,
  defineTopic,
  getText,
  routerStage,
  type RouterScene,
} from "../../support/router-scene.ts";
import { sharedStack } from "../../support/stack.ts";
import { brokers } from "./brokers.ts";

const { kafka, admin, routerScene } = routerStage({ ...sharedStack(), kafka: brokers.addresses });
const leader = brokers.second;

const createEvents = (count: number) => Array.from({ length: count }, () => ({ value: createEvent("E") }));

const on = (id: number) => ({ replicaAssignment: [{ partition: 0, replicas: [id] }] });

/** The events topic is led by the second broker, everything else by the first. */
async function createTopics(scene: RouterScene): Promise<void> {
  await createKafkaTopics(
    admin,
    { topic: scene.events, ...on(leader.id) },
    { topic: scene.egress, ...on(brokers.first.id) },
  );
}

async function startRouter(scene: RouterScene) {
  const service = await scene.start();
  await scene.send(defineTopic("all", "eventType=E"));
  await scene.stored(1);
  return service;
}

const readIds = async (scene: RouterScene): Promise<(string | undefined)[]> =>
  (await scene.readAll(scene.egress)).map((copy) => getText(copy, "topicsync.event"));

async function resetOffset(scene: RouterScene, offset: number): Promise<void> {
  await admin.setOffsets({
    groupId: scene.groupId,
    topic: scene.events,
    partitions: [{ partition: 0, offset: String(offset) }],
  });
}

it("never uses an id of an event again when the events topic is deleted and created again", async () => {
  const scene = routerScene();
  await createTopics(scene);
  await startRouter(scene);
  const expected: string[] = [];
  for (const epoch of [1, 2, 3]) {
    if (epoch > 1) await recreateKafkaTopic({ kafka, admin }, { topic: scene.events, ...on(leader.id) });
    await scene.produce(...createEvents(3));
    const suffix = epoch === 1 ? "" : `-${epoch}`;
    expected.push(...[0, 1, 2].map((offset) => `${scene.events}-0-${offset}${suffix}`));
    await until(`the events of epoch ${epoch} are forwarded`, async () => {
      const ids = await readIds(scene);
      return ids.length >= expected.length;
    });
  }
  assert.deepEqual((await readIds(scene)).toSorted(), expected.toSorted());
});

it("continues where a person set the offset, although an earlier event has a later time", async () => {
  const scene = routerScene();
  await createTopics(scene);
  const inAnHour = String(Date.now() + 3_600_000);
  await scene.produce(...createEvents(20), { value: createEvent("E"), timestamp: inAnHour });
  await resetOffset(scene, 21);
  await startRouter(scene);
  for (let round = 0; round < 3; round += 1) {
    await scene.produce(...createEvents(1));
    await scene.routed();
  }
  const expected = [21, 22, 23].map((offset) => `${scene.events}-0-${offset}`);
  assert.deepEqual(await readIds(scene), expected);
});

it("continues after records that were deleted before it read them, and commits no other offset", async () => {
  const scene = routerScene();
  await createTopics(scene);
  const first = await startRouter(scene);
  await scene.produce(...createEvents(2));
  await scene.routed();
  await first.stop();
  await scene.produce(...createEvents(5));
  await admin.fetchTopicOffsets(scene.events);
  await admin.deleteTopicRecords({ topic: scene.events, partitions: [{ partition: 0, offset: "6" }] });
  const second = await scene.start();
  await scene.routed();
  assert.deepEqual(
    await readIds(scene),
    [0, 1, 6].map((offset) => `${scene.events}-0-${offset}`),
  );
  assert.ok(second.log.some(({ msg }) => msg?.includes("deleted before they were read")));
});

it("continues at the end of a log that lost its records, and says which are gone", async () => {
  const scene = routerScene();
  await createTopics(scene);
  const service = await startRouter(scene);
  await scene.produce(...createEvents(4));
  await scene.routed();
  // As when its disk is replaced: the partition has no other replica.
  await leader.stop();
  rmSync(join(leader.logs, `${scene.events}-0`), { recursive: true });
  await leader.start();
  await until("the router notices", () =>
    service.log.some(({ msg }) => msg?.startsWith("kafka lost records")),
  );
  const line = service.log.find(({ msg }) => msg?.startsWith("kafka lost records"));
  assert.deepEqual([line?.["lostFrom"], line?.["lostTo"]], [0, 3]);
  await until("events are accepted", () =>
    scene.produce(...createEvents(1)).then(
      () => true,
      () => false,
    ),
  );
  await until("the event is forwarded", async () => (await readIds(scene)).length === 5);
  assert.deepEqual(await readIds(scene), [
    ...[0, 1, 2, 3].map((offset) => `${scene.events}-0-${offset}`),
    `${scene.events}-0-0-2`,
  ]);
});
