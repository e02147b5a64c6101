import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import kafkajs from "kafkajs";

import { exitCodes } from "@topicsync/lib/errors";
import { deleteKafkaTopic } from "../../support/kafka-topics.ts";
import { startKafkaProxy } from "../../support/kafka-proxy.ts";
import { toBasicAuthorization } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, waitUntilNotReady, getReadiness, waitUntilReady, stage } from "../../support/scene.ts";
import {
  bootstrap,
  runCli,
  startTopicsync,
  startTopicsyncHere,
  type TestService,
} from "../../support/service.ts";

const { stack, admin, kafka, producer, scene } = stage();

const countLogged = ({ log }: TestService, words: string): number =>
  log.filter(({ msg }) => msg?.includes(words) === true).length;

/** Prometheus' default. */
const scrapeTimeoutMs = 10_000;

/** While Kafka does not respond: everything that shows the status responds, and says so. */
async function assertStatusResponds(service: TestService, settings: Readonly<Record<string, string>>) {
  for (const path of ["/metrics", "/readyz", "/api/topicsync/v1/sync"]) {
    // Half of it, because the status of the router once took twice as long as the others.
    const signal = AbortSignal.timeout(scrapeTimeoutMs / 2);
    const headers = { Authorization: toBasicAuthorization(bootstrap) };
    const response = await fetch(`${service.url}${path}`, { headers, signal });
    if (path === "/metrics") assert.match(await response.text(), /topicsync_ready\{check="kafka"\} 0/);
    else assert.equal(response.status, path === "/readyz" ? 503 : 200, path);
  }
  const as = ["--server", service.url, "--user", bootstrap.user];
  const { code, output } = await runCli(["status", ...as], settings, bootstrap.password);
  assert.equal(code, exitCodes.notReady, output);
  assert.match(output, /is not ready \(kafka: no response within 2 s/);
}

describe("an announcements topic that is deleted and recreated while the service runs", () => {
  const cases: [title: string, before: number, after: number, announced: number, first: number][] = [
    ["with fewer records than before", 1, 1, 50, 50],
    ["with more records than before", 1, 1, 700, 50],
    ["with more records than before, all at once", 1, 1, 700, 700],
    ["with more partitions", 1, 3, 300, 50],
    ["with fewer partitions", 3, 1, 300, 50],
  ];
  for (const [title, partitionsBefore, partitionsAfter, announced, first] of cases) {
    it(`is read from its beginning: ${title}`, async () => {
      const own = scene();
      await own.createTopic(partitionsBefore);
      await own.announce(0, 300);
      const service = await own.start();
      await own.inStep();
      await own.recreateTopic(partitionsAfter);
      await own.announce(200, 200 + first, "Renamed");
      await until(
        "the new epoch is stored",
        async () => (await own.positions.findOne({ epoch: 2 })) !== null,
      );
      await own.inStep();
      await own.announce(200 + first, 200 + announced, "Renamed");
      await own.inStep();
      await waitUntilReady(service);
      assert.equal(countLogged(service, "positioning failed"), 0);
      assert.equal(await service.stop(), 0);
    });
  }
});

describe("an announcements topic that gets more partitions while the service runs", () => {
  it("is read completely", async () => {
    const own = scene();
    await own.createTopic();
    await own.announce(0, 50);
    const service = await own.start();
    await own.inStep();
    await admin.createPartitions({ topicPartitions: [{ topic: own.topic, count: 3 }] });
    // The producer of the scene does not know the new partitions yet.
    const newcomer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
    await newcomer.connect();
    const value = (id: string) => JSON.stringify(definition(id));
    const ids = [0, 1, 2].map((partition) => ({ partition, id: `added-${partition}` }));
    await newcomer.send({
      topic: own.topic,
      messages: ids.map(({ partition, id }) => ({ partition, key: id, value: value(id) })),
    });
    await newcomer.disconnect();
    await own.stored(53);
    assert.equal(await service.stop(), 0);
  });
});

describe("a dead-letter topic that cannot be written", () => {
  it("pauses the sync while it is missing, and receives the dead letter once it is recreated", async () => {
    const own = scene();
    await own.createTopic();
    const service = await own.start();
    await deleteKafkaTopic({ kafka, admin }, own.deadLetterTopic);
    await producer.send({ topic: own.topic, messages: [{ key: "bad", value: "no JSON" }] });
    await own.announce(0, 10);
    await waitUntilNotReady(service, "consumer", /the sync is paused/);
    assert.equal(await own.count(), 0);
    await own.createDeadLetterTopic();
    await own.reached(11);
    await waitUntilReady(service);
    assert.equal(await own.count(), 10);
    assert.equal(await own.deadLetters(), 1);
    assert.equal(await service.stop(), 0);
  });

  it("pauses the sync while it rejects the dead letter as too large, and receives it once its limit is raised", async () => {
    const own = scene();
    await own.createTopic();
    await own.createDeadLetterTopic({ "max.message.bytes": "100" });
    const service = await own.start();
    await producer.send({ topic: own.topic, messages: [{ key: "bad", value: "no JSON" }] });
    await own.announce(0, 10);
    await waitUntilNotReady(service, "consumer", /rejects a record: .*larger than the max message size/);
    assert.equal(await own.count(), 0);
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: own.deadLetterTopic,
          configEntries: [{ name: "max.message.bytes", value: "1000000" }],
        },
      ],
    });
    await own.reached(11);
    await waitUntilReady(service);
    assert.equal(await own.deadLetters(), 1);
    assert.equal(await service.stop(), 0);
  });
});

describe("a failing network between the service and Kafka", () => {
  it("does not stop the sync if it closes the connections repeatedly", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    await own.announce(0, 3_000);
    const service = await startTopicsyncHere({ ...own.settings, KAFKA_BROKERS: broker.address });
    for (const part of [1, 2_000]) {
      await until(`${part} announcements are applied`, async () => (await own.applied()) >= part);
      broker.cut();
      await waitUntilNotReady(service, "kafka", /Kafka does not respond|no response within/);
      broker.heal();
      await waitUntilReady(service);
      await own.announce(3_000 + part, 3_500 + part);
    }
    await own.inStep();
    assert.equal(await service.stop(), 0);
  });

  it("does not stop the sync if it drops all packets: the dead connections are closed", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    const service = await startTopicsyncHere({
      ...own.settings,
      KAFKA_BROKERS: broker.address,
      KAFKA_EVENTS_TOPIC: unique("events"),
    });
    await own.announce(0, 100);
    await own.inStep();
    broker.freeze();
    await own.announce(100, 200);
    await waitUntilNotReady(service, "kafka", /no response within/);
    await assertStatusResponds(service, own.settings);
    broker.heal();
    await waitUntilReady(service);
    await own.inStep();
    assert.equal(await service.stop(), 0);
  });
});

describe("a broker that does not find the group's coordinator", () => {
  it("does not stop the sync: the consumer restarts within the process", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    await own.announce(0, 100);
    broker.hideCoordinators(true);
    // Repeated warnings of kafkajs are at this level.
    const settings = { ...own.settings, KAFKA_BROKERS: broker.address, LOG_LEVEL: "debug" };
    const service = await startTopicsyncHere(settings);
    await until(
      "the consumer failed twice",
      () => countLogged(service, "Failed to find group coordinator") > 1,
    );
    broker.hideCoordinators(false);
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });

  it("does not stop a member that has to join again", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    const service = await startTopicsyncHere({ ...own.settings, KAFKA_BROKERS: broker.address });
    await waitUntilReady(service);
    broker.hideCoordinators(true);
    // Makes the group rebalance.
    const other = await startTopicsyncHere(own.settings);
    await until("the consumer failed", () => countLogged(service, "Failed to find group coordinator") > 0);
    broker.hideCoordinators(false);
    await own.announce(0, 100);
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
    assert.equal(await other.stop(), 0);
  });
});

describe("a broker whose responses end too early", () => {
  it("does not stop the sync, which continues once they are whole", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    const service = await startTopicsyncHere({ ...own.settings, KAFKA_BROKERS: broker.address });
    await waitUntilReady(service);
    broker.truncateAnswers(true);
    await until(
      "the service is not ready",
      async () => (await getReadiness(service).catch(() => ({ status: 0 }))).status !== 200,
    );
    broker.truncateAnswers(false);
    await own.announce(0, 100);
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });
});

/** Kafka's INVALID_GROUP_ID: kafkajs ends the member. */
const invalidGroupId = 24;

describe("a broker that rejects heartbeats for a reason that no repetition changes", () => {
  it("does not stop the sync: the consumer restarts within the process", async () => {
    const broker = await startKafkaProxy(stack.kafka);
    const own = scene();
    await own.createTopic();
    const service = await startTopicsyncHere({ ...own.settings, KAFKA_BROKERS: broker.address });
    await waitUntilReady(service);
    broker.failHeartbeats(invalidGroupId);
    await until("the consumer failed", () => countLogged(service, "The configured groupId is invalid") > 0);
    broker.failHeartbeats(0);
    await own.announce(0, 100);
    await own.inStep();
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });
});

/** Replaces the heartbeats of kafkajs. */
const bug = `data:text/javascript,${encodeURIComponent(`
  import { createRequire } from "node:module";
  const { prototype } = createRequire("${import.meta.url}")("kafkajs/src/consumer/consumerGroup");
  prototype.heartbeat = () => { throw new TypeError("a bug"); };
`)}`;

describe("a consumer that crashed", () => {
  it("ends the process with 70, since it cannot recover", async () => {
    const own = scene();
    await own.createTopic();
    const service = await startTopicsync({ ...own.settings, NODE_OPTIONS: `--import=${bug}` });
    await once(service.process, "exit");
    assert.equal(service.process.exitCode, 70);
    const fatal = service.log.find(({ level }) => level === 60);
    assert.match(fatal?.msg ?? "", /the consumer died: a bug/);
  });
});
