/** Those who look at the service, with credentials or without, and what that costs its neighbours and the sync. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { call } from "../../support/http.ts";
import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { stage } from "../../support/scene.ts";
import { startTopicsync, type TestService } from "../../support/service.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";

const stack = sharedStack();
const { scene } = stage(stack);

const look = (service: TestService, path: string) =>
  call(`${service.url}${path}`, { method: "GET", as: undefined });

describe("200 requests at once of somebody without credentials", () => {
  it("ask Kafka and MongoDB hardly more often than one does", async () => {
    const { settings, db, announce, stored } = scene();
    const kafka = await startKafkaProxy(stack.kafka);
    let pings = 0;
    const mongo = await startMongoProxy(Number(new URL(stack.mongodb).port), {
      onCommand: (command) => {
        if ("ping" in command) pings += 1;
      },
    });
    const proxied = `mongodb://127.0.0.1:${mongo.port}/?directConnection=true`;
    const service = await startTopicsync({
      ...settings,
      KAFKA_BROKERS: kafka.address,
      MONGODB_URI: databaseUri(proxied, db.databaseName),
    });
    await service.ready();
    await announce(0, 1);
    await stored(1);
    const before = kafka.requests(apiKeys.listOffsets);
    pings = 0;
    const paths = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? "/metrics" : "/readyz"));
    const answers = await Promise.all(paths.map((path) => look(service, path)));
    assert.deepEqual(
      answers.filter(({ status }) => status !== 200),
      [],
    );
    // A few seconds' worth on a busy machine; one look is four questions for offsets and one ping.
    const questions = kafka.requests(apiKeys.listOffsets) - before;
    assert.ok(questions > 0 && questions < 100, `${questions} questions for offsets`);
    assert.ok(pings > 0 && pings < 20, `${pings} pings`);
    assert.equal(await service.stop(), 0);
  });
});

describe("a broker that does not answer those who look", () => {
  it("does not hold up the sync, which has connections of its own", async () => {
    const { settings, announce, stored } = scene();
    const kafka = await startKafkaProxy(stack.kafka);
    const service = await startTopicsync({ ...settings, KAFKA_BROKERS: kafka.address });
    await service.ready();
    await announce(0, 1);
    await stored(1);
    kafka.hold(apiKeys.describeGroups);
    await until("somebody has looked in vain", async () => {
      const { json } = await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET" });
      return (json as SyncStatus).problems.some((problem) => problem.startsWith("the group: "));
    });
    let isStored = false;
    const watching = until("the sync has gone on", async () => {
      await look(service, "/metrics");
      return isStored;
    });
    await announce(1, 2);
    await stored(2);
    isStored = true;
    await watching;
    assert.equal((await look(service, "/readyz")).status, 200);
    assert.equal(await service.stop(), 0);
  });
});
