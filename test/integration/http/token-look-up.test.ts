/** What a program that sends push notifications reads: the active tokens of many users. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { service } from "../../support/shared-service.ts";

const records = service.db.collection<InstallationRecord>("sys_push_notif_app_install");

const [ann, bob, gateway] = [unique("ann"), unique("bob"), unique("gateway")];
const stored = [
  installation("ann-ios", { user: ann }),
  installation("ann-android", { user: ann, platform: "android" }),
  installation("ann-inactive", { user: ann, active: false }),
  installation("ann-other", { user: ann, application: "other" }),
  installation("bob-ios", { user: bob }),
  installation("eve-ios", { user: unique("eve") }),
  ...Array.from({ length: 1_100 }, (_, i) => installation(`gateway-${i}`, { user: gateway })),
];
let sender: string;

service.prepare(async () => {
  await records.insertMany(stored);
  sender = await createKey(service.url, "installations.read-tokens");
});

const lookUp = (body: object, key = sender): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/installations/look-up`, { body, key });
const getTokens = ({ json }: HttpResponse): string[] =>
  (json.installations as { token: string }[]).map(({ token }) => token);

describe("looking up the tokens of users", () => {
  it("returns the active ones of an application, by user, and nobody else's", async () => {
    const response = await lookUp({ users: [bob, ann, "nobody", ann], application: "agent" });
    assert.equal(response.status, 200);
    assert.deepEqual(getTokens(response).toSorted(), ["ann-android", "ann-ios", "bob-ios"]);
    assert.equal(getTokens(response).at(-1), "bob-ios");
    assert.equal(response.json.next, null);
    const ofPlatform = await lookUp({ users: [ann, bob], application: "agent", platform: "android" });
    assert.deepEqual(getTokens(ofPlatform), ["ann-android"]);
    assert.deepEqual(Object.keys(ofPlatform.json.installations[0]).toSorted(), [
      "id",
      "lastSeenOn",
      "platform",
      "token",
      "user",
    ]);
  });

  it("returns the attributes of devices, and selects by all that are given", async () => {
    const [carla, dora] = [unique("carla"), unique("dora")];
    const beta = { appVersion: "2", ring: "beta" };
    await records.insertMany([
      installation("beta", { user: carla, attributes: beta }),
      installation("stable", { user: carla, attributes: { appVersion: "2" } }),
      installation("none", { user: dora }),
      installation("gone", { user: dora, active: false, attributes: beta }),
      installation("theirs", { user: unique("eve"), attributes: beta }),
    ]);
    const find = (attributes?: unknown): Promise<HttpResponse> =>
      lookUp({ users: [carla, dora], application: "agent", attributes });
    const [one] = (await find(beta)).json.installations;
    assert.deepEqual([one.token, one.attributes], ["beta", beta]);
    for (const [attributes, found] of [
      [beta, ["beta"]],
      [{ appVersion: "2", ring: null }, ["beta", "stable"]],
      [{ appVersion: "$2" }, []],
      [{ appversion: "2" }, []],
      [{}, ["beta", "none", "stable"]],
      [null, ["beta", "none", "stable"]],
    ] as const)
      assert.deepEqual(getTokens(await find(attributes)).toSorted(), found, JSON.stringify(attributes));
    for (const attributes of [
      { "ring.$ne": "x" },
      { $where: "1" },
      { ring: { $ne: "" } },
      { ring: "" },
      "ring",
    ])
      assertError(await find(attributes), 400, "SCHEMA_VIOLATION");
  });

  it("returns many page by page, each once", async () => {
    const users = [ann, gateway];
    const found: string[] = [];
    let after: string | null | undefined;
    let pages = 0;
    while (after !== null) {
      const response = await lookUp({ users, application: "agent", after });
      found.push(...getTokens(response));
      after = response.json.next;
      pages += 1;
    }
    assert.deepEqual([found.length, new Set(found).size, pages], [1_102, 1_102, 2]);
  });

  it("rejects unknown applications and platforms, too many users and foreign cursors", async () => {
    const body = { users: [ann], application: "agent" };
    assertError(await lookUp({ ...body, application: "none" }), 400, "UNKNOWN_APPLICATION");
    assertError(await lookUp({ ...body, platform: "none" }), 400, "UNKNOWN_PLATFORM");
    assertError(await lookUp({ ...body, after: "x" }), 400, "SCHEMA_VIOLATION");
    const many = Array.from({ length: 1_001 }, (_, i) => `user ${i}`);
    assertError(await lookUp({ ...body, users: many }), 400, "SCHEMA_VIOLATION");
    const { json } = await lookUp({ users: [], applikation: "agent", platform: 1 });
    assert.deepEqual(json.error.details.map(({ path }: { path: string }) => path).toSorted(), [
      "/application",
      "/applikation",
      "/platform",
      "/users",
    ]);
  });

  it("requires its right, and is in the audit log", async () => {
    const body = { users: [ann, bob], application: "agent", platform: "ios" };
    const other = await createKey(service.url, "installations.write-all");
    assertError(await lookUp(body, other), 403, "FORBIDDEN");
    assert.equal((await lookUp(body)).status, 200);
    const line = await until("it is recorded", () =>
      service.log.find(({ msg, platform }) => msg === "installations.looked-up" && platform === "ios"),
    );
    const { application, platform, users, count, by } = line;
    assert.deepEqual({ application, platform, users, count }, { ...body, users: 2, count: 2 });
    assert.match(String(by), /^key:/);
    const refused = service.log.find(
      ({ msg, operation }) => msg === "request.refused" && operation === "lookUpInstallations",
    );
    assert.match(String(refused?.["reason"]), /^The right installations\.read-tokens is required/);
  });
});
