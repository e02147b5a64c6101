import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { prepareKafkaJava, runClass } from "@topicsync/embedded";
import { toBasicAuthorization, call } from "../../support/http.ts";
import { killAt, type Moment } from "../../support/kill-at.ts";
import { toolsFolder } from "../../support/local.ts";
import { unique } from "../../support/names.ts";
import { startOwnBroker, startOwnStore } from "../../support/own-stack.ts";
import { until } from "../../support/poll.ts";
import { definition, getReadiness, waitUntilReady, stage } from "../../support/scene.ts";
import { bootstrap, startTopicsync, startTopicsyncHere } from "../../support/service.ts";

const [broker, store] = await Promise.all([startOwnBroker(), startOwnStore()]);
const { producer, scene } = stage({ kafka: broker.address, mongodb: store.address });

describe("servers that stop", () => {
  it("pause the sync while it is the store: nothing is rejected, and it resumes without help", async () => {
    const { settings, createTopic, announce, applied, inStep } = scene();
    await createTopic();
    await announce(0, 3_000);
    const service = await startTopicsyncHere(settings);
    await until("some announcements are applied", async () => (await applied()) > 0);
    await store.stop();
    await until("the service is not ready", async () => (await getReadiness(service)).status === 503);
    const { json } = await getReadiness(service);
    assert.equal(json.checks.mongodb.ok, false);
    const rejected = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: definition("x") });
    assert.equal(rejected.status, 503);
    assert.equal(rejected.json.error.code, "UNAVAILABLE");
    assert.match(rejected.headers.get("retry-after") ?? "", /^\d+$/);
    assert.match(rejected.json.error.detail, /^The request may or may not have been stored/);
    const read = await call(`${service.url}/api/topicsync/v1/topics`, { method: "GET" });
    assert.equal(read.status, 503);
    assert.match(read.json.error.detail, /^Try again in 5 seconds/);
    await store.start();
    await inStep();
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });

  it("pause the sync while it is broker and store, and a service that starts waits and reports which is missing", async () => {
    const { settings, topic, createTopic, announce, applied, deadLetters, inStep } = scene();
    await createTopic();
    await announce(0, 3_000);
    const running = await startTopicsync(settings);
    await until("some announcements are applied", async () => (await applied()) > 0);
    await broker.stop();
    await until("the service is not ready", async () => (await getReadiness(running)).status === 503);

    const own = scene();
    await store.stop();
    const waiting = await startTopicsync(own.settings);
    const health = await call(`${waiting.url}/healthz`, { method: "GET", as: undefined });
    assert.equal(health.status, 200);
    const { status, json } = await getReadiness(waiting);
    assert.equal(status, 503);
    assert.deepEqual(
      Object.entries(json.checks).map(([name, check]) => [name, (check as { ok: boolean }).ok]),
      [
        ["mongodb", false],
        ["kafka", false],
        ["consumer", false],
      ],
    );
    const early = await call(`${waiting.url}/api/svc_api_notif_mgmt/topic`, { body: definition("early") });
    assert.equal(early.status, 503);
    await until("it logs that it waits", () =>
      waiting.log.find(({ msg }) => msg?.startsWith("MongoDB unavailable")),
    );
    await store.start();
    await until("it logs that it waits", () =>
      waiting.log.find(({ msg }) => msg?.startsWith("Kafka unavailable")),
    );
    await broker.start();
    await waiting.ready();
    await own.announce(0, 10);
    await own.stored(10);
    assert.equal(await waiting.stop(), 0);

    await inStep();
    // New announcements are applied as well, and dead letters are written.
    await announce(3_000, 4_000);
    await inStep();
    await producer.send({ topic, messages: [{ key: "bad", value: "no JSON" }] });
    await until("the dead letter is written", async () => (await deadLetters()) === 1);
    await waitUntilReady(running);
    assert.equal(await running.stop(), 0);
  });
});

const topicsCollection = "svc_api_notif_mgmt_topic";
const kills: readonly Moment[] = [
  { command: "insert", collection: topicsCollection, nth: 1 },
  { command: "commitTransaction", nth: 1 },
  { command: "insert", collection: topicsCollection, nth: 2 },
];

// The first of these tests spends most of its time waiting until the group removes a killed member.
describe("servers that run", { concurrency: true }, () => {
  describe("the sync", { concurrency: true }, () => {
    it("stores each of 5,000 announcements once although the service is killed several times", async () => {
      const own = scene();
      await own.createTopic();
      await own.announce(0, 5_000);
      for (const kill of kills) await killAt(kill, own, store.address);
      assert.ok((await own.applied()) < 5_000, "everything was applied before it was killed");
      const service = await startTopicsync(own.settings);
      await own.inStep();
      assert.equal(await service.stop(), 0);
    });

    it("reads records from Kafka's Java client, compressed with any codec", async () => {
      const { topic, createTopic, start, stored } = scene();
      await createTopic();
      const java = await prepareKafkaJava({ toolsFolder, report: () => undefined });
      const codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
      for (const codec of codecs) {
        const lines = Array.from({ length: 300 }, (_, i) => {
          const id = `${codec}-${i}`;
          return `${id}\t${JSON.stringify(definition(id))}\n`;
        });
        const args = ["--bootstrap-server", broker.address, "--topic", topic, "--compression-codec", codec];
        await runClass(java, {
          mainClass: "org.apache.kafka.tools.ConsoleProducer",
          args: [...args, "--reader-property", "parse.key=true"],
          input: Buffer.from(lines.join("")),
        });
      }
      const service = await start();
      await stored(300 * codecs.length);
      assert.equal(await service.stop(), 0);
    });
  });

  describe("the shutdown of the service", { concurrency: true }, () => {
    it("is possible while it waits for broker and store", async () => {
      const { settings } = scene();
      const nowhere = { MONGODB_URI: "mongodb://127.0.0.1:1/x", KAFKA_BROKERS: "127.0.0.1:1" };
      const service = await startTopicsync({ ...settings, ...nowhere });
      assert.equal(await service.stop(), 0);
    });

    it("responds to pending requests, and exits with 0", async () => {
      const service = await scene().startProcess();
      const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
      await call(url, { body: definition(unique("first")) });
      const responses = Promise.all(
        Array.from({ length: 20 }, () => call(url, { body: definition(unique("id")) })),
      );
      await until("the requests are sent", async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return true;
      });
      // npm forwards a signal that the terminal has already sent.
      service.process.kill("SIGTERM");
      const [code, all] = await Promise.all([service.stop("SIGTERM"), responses.catch(() => [])]);
      assert.equal(code, 0);
      for (const { status } of all) assert.equal(status, 201);
    });

    it("logs neither passwords nor tokens", async () => {
      const service = await scene().start({
        LOG_LEVEL: "trace",
        PUSH_APPLICATIONS: "a",
        PUSH_PLATFORMS: "p",
      });
      const token = unique("secret-token");
      const url = `${service.url}/api/now/push/a/installation`;
      assert.equal((await call(url, { body: { platform: "p", token } })).status, 200);
      await call(url, { body: { platform: "p", token }, as: { user: "x", password: token } });
      await call(url, { body: `{"platform":"p","token":"${token}` });
      await service.stop();
      const log = JSON.stringify(service.log);
      for (const secret of [
        token,
        bootstrap.password,
        toBasicAuthorization(bootstrap).slice("Basic ".length),
      ]) {
        assert.ok(!log.includes(secret), `the log contains ${secret}`);
      }
    });
  });

  describe("a database that conflicts", { concurrency: true }, () => {
    it("stops the start with 65 and says how to resolve the conflict", async () => {
      const { settings, topics } = scene();
      await topics.insertMany([{ topic_id: "same" }, { topic_id: "same" }] as never[]);
      const service = await startTopicsync(settings);
      await until("the process has exited", () => service.process.exitCode !== null);
      assert.equal(service.process.exitCode, 65);
      const fatal = await until("the reason is logged", () => service.log.find(({ level }) => level === 60));
      assert.match(fatal.msg ?? "", /svc_api_notif_mgmt_topic.*topic_id.*Remove the duplicates/);
    });

    it("may also have another index under a declared name", async () => {
      const { settings, topics } = scene();
      await topics.createIndex({ namespace: 1 }, { name: "unique_topic_id" }, {});
      const service = await startTopicsync(settings);
      await until("the process has exited", () => service.process.exitCode !== null);
      assert.equal(service.process.exitCode, 65);
    });
  });
});
