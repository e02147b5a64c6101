/**
 * Events are other people's data: of their dead letters the role for topics sees the reasons only (contract,
 * section 8).
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { roles } from "../../../src/users/user.ts";
import { call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { createEvent, defineTopic, routerStage } from "../../support/router-scene.ts";
import { addUser, bootstrap, type TestService } from "../../support/service.ts";

const { routerScene } = routerStage();
const own = routerScene({ KAFKA_EGRESS_TOPIC: "to.{externalId}" });
const manager = { user: unique("manager"), password: "a manager's password" };
interface Credentials {
  readonly user: string;
  readonly password: string;
}

const secret = "Bearer of-a-customer";
let service: TestService;

const get = (rest: string, as: Credentials): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/dead-letters${rest}channel=events`, { method: "GET", as });

before(async () => {
  await own.createTopics(1);
  await own.createTopic();
  service = await own.start();
  await addUser(own.settings, manager.user, manager.password, "--role", roles.eventManagement);
  await own.send(defineTopic("missing", "eventType=Wanted"));
  await own.stored(1);
  const headers = { authorization: secret };
  await own.produce(
    { value: `{"name": ${secret}`, key: secret, headers },
    { value: createEvent("Wanted", { secret }), key: secret, headers },
  );
  await own.routed();
});

it("a topic that no event can reach is not created over HTTP", async () => {
  for (const [externalId, status] of [
    ["spy me", 400],
    ["x".repeat(300), 400],
    ["legal", 201],
  ] as const) {
    const { json, ...response } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, {
      as: manager,
      body: { name: externalId, externalId },
    });
    assert.equal(response.status, status, response.text);
    if (status === 400) {
      const { code, details } = json.error;
      assert.deepEqual([code, details[0].path], ["BAD_EGRESS_NAME", "/externalId"]);
    }
  }
});

describe("dead letters of events", () => {
  for (const [code, tellsReason] of [
    ["MALFORMED_JSON", false],
    ["NO_EGRESS_TOPIC", true],
  ] as const) {
    it(`are listed and counted for the role for topics, without their content: ${code}`, async () => {
      const { json: list, text } = await get(`?code=${code}&`, manager);
      assert.equal(list.counts[code], 1);
      assert.ok(!text.includes("Bearer"), text);
      const [{ id, message }] = list.deadLetters;
      const { json: whole } = await get(`?code=${code}&`, bootstrap);
      assert.equal(
        message,
        tellsReason ? whole.deadLetters[0].message : "Not shown: it may quote the event.",
      );

      const { json: shown } = await get(`/${id}?`, manager);
      assert.deepEqual(
        [shown.code, shown.key, shown.value, shown.headers, shown.contentHidden, shown.message],
        [code, null, null, [], true, message],
      );
      assert.ok(!JSON.stringify(shown).includes("Bearer"));
      assert.ok(!service.log.some(({ msg, by }) => msg === "dead-letters.read" && by === manager.user));
    });

    it(`are shown whole to administrators, who leave an audit line: ${code}`, async () => {
      const { json: list } = await get(`?code=${code}&`, bootstrap);
      const [{ id }] = list.deadLetters;
      const { json } = await get(`/${id}?`, bootstrap);
      const base64 = Buffer.from(secret).toString("base64");
      assert.deepEqual([json.key, json.contentHidden], [base64, false]);
      assert.ok(Buffer.from(json.value, "base64").includes(secret));
      assert.deepEqual(json.headers, [{ name: "authorization", value: base64 }]);
      assert.ok(service.log.some((line) => line.msg === "dead-letters.read" && line["id"] === id));
    });
  }
});
