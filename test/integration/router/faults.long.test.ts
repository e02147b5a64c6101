import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { recreateKafkaTopic } from "../../support/kafka-topics.ts";
import { until } from "../../support/poll.ts";
import { createEvent, defineTopic, routerStage, type RouterScene } from "../../support/router-scene.ts";
import { getSyncStatus } from "../../support/scene.ts";
import type { ServiceProcess } from "../../support/service.ts";

const { stack, kafka, admin, routerScene } = routerStage();

const topics = ["first", "second"];

async function prepare(scene: RouterScene, partitions: number): Promise<void> {
  await scene.createTopics(partitions);
  const service = await scene.start();
  await scene.send(...topics.map((topic) => defineTopic(topic, "eventType=E")));
  await scene.stored(topics.length);
  await service.stop();
}

async function produceTo(scene: RouterScene, partitions: number, count: number): Promise<void> {
  for (let produced = 0; produced < count; produced += 1_000) {
    await scene.produce(
      ...Array.from({ length: Math.min(1_000, count - produced) }, (_, number) => ({
        partition: number % partitions,
        key: String(number % 7),
        value: createEvent("E", { number, text: "x".repeat(200) }),
      })),
    );
  }
}

/** The sum of the offsets that the router has committed. */
async function countRouted({ groupId, events }: RouterScene): Promise<number> {
  const [committed] = await admin.fetchOffsets({ groupId, topics: [events] });
  return (committed?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
}

const waitUntilRouted = (scene: RouterScene, count: number) =>
  until(`${count} events are forwarded`, async () => (await countRouted(scene)) >= count);

async function kill({ process }: ServiceProcess): Promise<void> {
  process.kill("SIGKILL");
  await until("it is killed", () => process.signalCode === "SIGKILL");
}

describe("the router, when processes fail", () => {
  it("forwards each event once although its instances are killed while they share four partitions", async () => {
    const scene = routerScene();
    await prepare(scene, 4);
    let first = await scene.startProcess();
    let second = await scene.startProcess();
    for (const round of [1, 2]) {
      await produceTo(scene, 4, 4_000);
      await waitUntilRouted(scene, (round - 1) * 4_000 + 1_000);
      await kill(first);
      first = second;
      second = await scene.startProcess();
    }
    await scene.routed();
    await scene.assertForwarded(topics, [2_000, 2_000, 2_000, 2_000]);
  });

  it("rejects the commit of a frozen process whose partitions were taken over", async () => {
    const scene = routerScene();
    await prepare(scene, 2);
    const proxy = await startKafkaProxy(stack.kafka);
    const zombie = await scene.startProcess({ KAFKA_BROKERS: proxy.address });
    proxy.hold(apiKeys.endTxn);
    await produceTo(scene, 2, 2_000);
    await until("both transactions wait for their end", () => proxy.requests(apiKeys.endTxn) >= 2);
    zombie.process.kill("SIGSTOP");
    const heir = await scene.startProcess();
    await scene.routed();
    // The broker gets the commits of the frozen process.
    proxy.release();
    await produceTo(scene, 2, 2_000);
    zombie.process.kill("SIGCONT");
    await produceTo(scene, 2, 2_000);
    await scene.routed();
    await scene.assertForwarded(topics, [3_000, 3_000]);
    assert.equal(await heir.stop(), 0);
    assert.equal(await zombie.stop(), 0);
  });
});

describe("the router, when the topics are not known", () => {
  it("waits until they are loaded, and says so", async () => {
    const scene = routerScene();
    await prepare(scene, 1);
    await scene.produce({ value: createEvent("E") });
    const service = await scene.start();
    await scene.routed();
    await scene.assertForwarded(topics, [1]);
    const { router } = await getSyncStatus(service);
    assert.deepEqual(router?.index, { state: "live", topics: 2, topicsRead: null });
  });

  it("matches the next event against a topic that this process has just stored", async () => {
    const scene = routerScene();
    await scene.createTopics();
    const service = await scene.start();
    for (const number of [0, 1, 2, 3, 4]) {
      const type = `E${number}`;
      await scene.post(service, defineTopic(type, `eventType=${type}`));
      await scene.produce({ value: createEvent(type) });
    }
    await scene.routed();
    const copies = await scene.readAll(scene.egress);
    assert.equal(copies.length, 5);
  });
});

describe("the router, when Kafka fails", () => {
  it("reads an events topic that is deleted and created again from its beginning", async () => {
    const scene = routerScene();
    await scene.createTopics();
    await scene.start();
    await scene.send(defineTopic("all", "eventType=E"));
    await scene.stored(1);
    await produceTo(scene, 1, 30);
    await scene.routed();
    await recreateKafkaTopic({ kafka, admin }, { topic: scene.events });
    await produceTo(scene, 1, 50);
    await until("the events of both are forwarded", async () => (await scene.countCopies()) >= 80);
    await scene.routed();
    assert.equal(await scene.countCopies(), 80);
  });
});
