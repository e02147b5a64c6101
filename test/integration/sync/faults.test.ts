import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { toBasicAuthorization, call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { startOwnBroker, startOwnStore } from "../../support/own-stack.ts";
import { until } from "../../support/poll.ts";
import { definition, getReadiness, waitUntilReady, stage } from "../../support/scene.ts";
import { bootstrap, startTopicsync } from "../../support/service.ts";

const [broker, store] = await Promise.all([startOwnBroker(), startOwnStore()]);
const { producer, scene } = stage({ kafka: broker.address, mongodb: store.address });

describe("the sync", () => {
  it("stores each of 20,000 announcements once although the service is killed several times", async () => {
    const { settings, createTopic, announce, applied, inStep } = scene();
    await createTopic();
    await announce(0, 20_000);
    for (const part of [1, 5_000, 12_000]) {
      const service = await startTopicsync(settings);
      await until(`${part} announcements are applied`, async () => (await applied()) >= part);
      await service.stop("SIGKILL");
    }
    assert.ok((await applied()) < 20_000, "everything was applied before it was killed");
    const service = await startTopicsync(settings);
    await inStep(120_000);
    assert.equal(await service.stop(), 0);
  });

  it("waits for a store that is stopped, rejects nothing, and resumes by itself", async () => {
    const { settings, createTopic, announce, applied, inStep } = scene();
    await createTopic();
    await announce(0, 6_000);
    const service = await startTopicsync(settings);
    await until("some announcements are applied", async () => (await applied()) > 0);
    await store.stop();
    await until("the service is not ready", async () => (await getReadiness(service)).status === 503);
    const { json } = await getReadiness(service);
    assert.equal(json.checks.mongodb.ok, false);
    const rejected = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: definition("x") });
    assert.equal(rejected.status, 503);
    assert.equal(rejected.json.error.code, "UNAVAILABLE");
    assert.match(rejected.headers.get("retry-after") ?? "", /^\d+$/);
    await store.start();
    await inStep(120_000);
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });

  it("resumes by itself after a restart of the broker", async () => {
    const { settings, topic, createTopic, announce, applied, deadLetters, inStep } = scene();
    await createTopic();
    await announce(0, 6_000);
    const service = await startTopicsync(settings);
    await until("some announcements are applied", async () => (await applied()) > 0);
    await broker.stop();
    await until("the service is not ready", async () => (await getReadiness(service)).status === 503);
    await broker.start();
    await inStep(120_000);
    // New announcements are applied as well, and dead letters are written.
    await announce(6_000, 7_000);
    await inStep(120_000);
    await producer.send({ topic, messages: [{ key: "bad", value: "no JSON" }] });
    await until("the dead letter is written", async () => (await deadLetters()) === 1);
    await waitUntilReady(service);
    assert.equal(await service.stop(), 0);
  });
});

describe("the start of the service", () => {
  it("waits for a broker and a store that are not running yet, and reports which is missing", async () => {
    const { settings, announce, count } = scene();
    await Promise.all([broker.stop(), store.stop()]);
    const service = await startTopicsync(settings);
    const health = await call(`${service.url}/healthz`, { method: "GET", as: undefined });
    assert.equal(health.status, 200);
    const { status, json } = await getReadiness(service);
    assert.equal(status, 503);
    assert.deepEqual(
      Object.entries(json.checks).map(([name, check]) => [name, (check as { ok: boolean }).ok]),
      [
        ["mongodb", false],
        ["kafka", false],
        ["consumer", false],
      ],
    );
    const early = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, { body: definition("early") });
    assert.equal(early.status, 503);
    await until("it logs that it waits", () =>
      service.log.find(({ msg }) => msg?.startsWith("MongoDB unavailable")),
    );
    await store.start();
    await until("it logs that it waits", () =>
      service.log.find(({ msg }) => msg?.startsWith("Kafka unavailable")),
    );
    await broker.start();
    await service.ready();
    await announce(0, 10);
    await until("the topics are stored", async () => (await count()) === 10);
    assert.equal(await service.stop(), 0);
  });

  it("can be cancelled while it waits", async () => {
    const { settings } = scene();
    const nowhere = { MONGODB_URI: "mongodb://127.0.0.1:1/x", KAFKA_BROKERS: "127.0.0.1:1" };
    const service = await startTopicsync({ ...settings, ...nowhere });
    assert.equal(await service.stop(), 0);
  });
});

describe("the shutdown of the service", () => {
  it("responds to pending requests, and exits with 0", async () => {
    const service = await scene().start();
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

describe("a record from Kafka's Java client", () => {
  for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
    it(`is read if it is compressed with ${codec}`, async () => {
      const { settings, topic, createTopic, count } = scene();
      await createTopic();
      const lines = Array.from(
        { length: 300 },
        (_, i) => `id-${i}\t${JSON.stringify(definition(`id-${i}`))}\n`,
      );
      const options = ["--topic", topic, "--compression-codec", codec];
      const keys = ["--reader-property", "parse.key=true"];
      await broker
        .running()
        .runTool("kafka-console-producer", [...options, ...keys], Buffer.from(lines.join("")));
      const service = await startTopicsync(settings);
      await until("all topics are stored", async () => (await count()) === 300);
      assert.equal(await service.stop(), 0);
    });
  }
});

describe("a database that conflicts", () => {
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
