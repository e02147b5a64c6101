import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call } from "../../support/http.ts";
import { until } from "../../support/poll.ts";
import { getReadiness, stage } from "../../support/scene.ts";
import { bootstrap, startTopicsync, startTopicsyncHere } from "../../support/service.ts";

const { scene } = stage();
const password = "a password of a device";

describe("the readiness probe of a service without Kafka", () => {
  it("gives the reasons only to users with a role", async () => {
    const { settings } = scene({ KAFKA_BROKERS: "127.0.0.1:1" });
    const service = await startTopicsync(settings);
    const users = `${service.url}/api/topicsync/v1/users`;
    await until("users can be added", async () => {
      const { status } = await call(users, { body: { name: "device", password, roles: [] } });
      return status === 201;
    });
    const outside = await getReadiness(service);
    assert.equal(outside.status, 503);
    assert.deepEqual(outside.json.checks.kafka, { ok: false });
    assert.doesNotMatch(outside.text, /reason|127\.0\.0\.1/);
    const device = await getReadiness(service, { user: "device", password });
    assert.deepEqual([device.status, device.json], [503, outside.json]);
    const { status, json } = await getReadiness(service, bootstrap);
    assert.equal(status, 503);
    assert.match(json.checks.kafka.reason, /\S/);
    assert.equal(await service.stop(), 0);
  });

  it("rejects wrong credentials, and logs who sent them", async () => {
    const { settings } = scene();
    const service = await startTopicsyncHere(settings);
    await service.ready();
    assertError(await getReadiness(service, { user: "mallory", password }), 401, "UNAUTHENTICATED");
    await until("it is logged", () =>
      service.log.find((line) => line["path"] === "/readyz" && line["user"] === "mallory"),
    );
    await service.stop();
  });
});
