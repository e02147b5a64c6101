/** The load that monitoring, with or without credentials, puts on Kafka, MongoDB and the sync. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { call } from "../../support/http.ts";
import { apiKeys, startKafkaProxy } from "../../support/kafka-proxy.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";
import { getSyncStatus, stage } from "../../support/scene.ts";
import type { TestService } from "../../support/service.ts";
import { getPort } from "../../support/local.ts";

const { stack, scene } = stage();

const get = (service: TestService, path: string) =>
  call(`${service.url}${path}`, { method: "GET", as: undefined });

describe("200 concurrent requests without credentials", () => {
  it("cause few requests to Kafka and MongoDB", async () => {
    const { db, start, announce, stored } = scene();
    const kafka = await startKafkaProxy(stack.kafka);
    let pings = 0;
    const mongo = await startMongoProxy(getPort(stack.mongodb), {
      onCommand: (command) => {
        if ("ping" in command) pings += 1;
      },
    });
    const service = await start({ KAFKA_BROKERS: kafka.address, MONGODB_URI: mongo.uri(db.databaseName) });
    await announce(0, 1);
    await stored(1);
    const before = kafka.requests(apiKeys.listOffsets);
    const startedAt = performance.now();
    pings = 0;
    const paths = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? "/metrics" : "/readyz"));
    const responses = await Promise.all(paths.map((path) => get(service, path)));
    assert.deepEqual(
      responses.filter(({ status }) => status !== 200),
      [],
    );
    // A check sends up to four requests for offsets and one ping, and there are two kinds of checks, each
    // once a second.
    const requests = kafka.requests(apiKeys.listOffsets) - before;
    const maxChecks = 2 * Math.ceil((performance.now() - startedAt) / 1_000 + 1);
    assert.ok(requests > 0 && requests <= 4 * maxChecks, `${requests} requests for offsets`);
    assert.ok(pings > 0 && pings <= maxChecks, `${pings} pings`);
    assert.equal(await service.stop(), 0);
  });
});

describe("a broker that does not respond to monitoring", () => {
  it("does not block the sync, which has its own connections", async () => {
    const { start, announce, stored } = scene();
    const kafka = await startKafkaProxy(stack.kafka);
    const service = await start({ KAFKA_BROKERS: kafka.address });
    await announce(0, 1);
    await stored(1);
    kafka.hold(apiKeys.describeGroups);
    await until("the status reports the problem", async () => {
      const { problems } = await getSyncStatus(service);
      return problems.some((problem) => problem.startsWith("the group: "));
    });
    let isStored = false;
    const watching = until("the sync has continued", async () => {
      await get(service, "/metrics");
      return isStored;
    });
    await announce(1, 2);
    await stored(2);
    isStored = true;
    await watching;
    assert.equal((await get(service, "/readyz")).status, 200);
    assert.equal(await service.stop(), 0);
  });
});
