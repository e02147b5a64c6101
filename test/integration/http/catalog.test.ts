/** Push applications and platforms over HTTP (specification 4.1). */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { assertError, call, type Call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { useService } from "../../support/scene.ts";
import { bootstrap, startTopicsyncHere, type TestService } from "../../support/service.ts";

const here = useService({ PUSH_APPLICATIONS: "App", PUSH_PLATFORMS: "ios" });
let there: TestService;

before(async () => {
  there = await startTopicsyncHere(here.settings);
  await there.ready();
});

type Kind = "applications" | "platforms";

const post = (rest: string, body?: unknown, as: Call["as"] = bootstrap): Promise<HttpResponse> =>
  call(`${here.url}/api/topicsync/v1/${rest}`, { body, as });
async function list(kind: Kind): Promise<{ name: string }[]> {
  const { status, json } = await call(`${here.url}/api/topicsync/v1/${kind}`, { method: "GET" });
  assert.equal(status, 200);
  return (json as Record<Kind, { name: string }[]>)[kind];
}
const register = async (at: TestService, application: string, platform: string, token = unique("token")) =>
  (
    await call(`${at.url}/api/now/push/${encodeURIComponent(application)}/installation`, {
      body: { platform, token },
    })
  ).status;

for (const kind of ["applications", "platforms"] as const) {
  const rule = kind === "platforms" ? { tokenRule: null } : {};

  describe(`${kind} over HTTP`, () => {
    it("are added, listed by name, and rejected if the name is taken", async () => {
      const name = `${unique("a")} and/or ünïcode?`;
      const { status, json } = await post(kind, { name });
      assert.deepEqual([status, json], [201, { name, active: true, ...rule }]);
      const names = (await list(kind)).map((one) => one.name);
      assert.ok(names.includes(name));
      assert.deepEqual(names, names.toSorted());
      assertError(await post(kind, { name }), 409, "NAME_TAKEN");
      for (const bad of ["", " a", "a ", "a\u001Bb", "x".repeat(257)])
        assert.equal((await post(kind, { name: bad })).status, 400, JSON.stringify(bad));
      const switched = await post(`${kind}/${encodeURIComponent(name)}/disable`);
      assert.deepEqual([switched.status, switched.json], [200, { name, active: false, ...rule }]);
    });

    it("are disabled and enabled on every instance", async () => {
      const name = unique("name");
      await post(kind, { name });
      const tryRegister = () =>
        kind === "applications" ? register(there, name, "ios") : register(there, "App", name);
      await until("it is enabled", async () => (await tryRegister()) === 200);
      await post(`${kind}/${name}/disable`);
      await until("it is disabled", async () => (await tryRegister()) === 400);
      await post(`${kind}/${name}/enable`);
      await until("it is enabled again", async () => (await tryRegister()) === 200);
      assert.equal((await post(`${kind}/${unique("none")}/disable`)).status, 404);
    });

    it("require the role of an administrator", async () => {
      const as = { user: unique("user"), password: "a password of a user" };
      const roles = ["svc_api_notif_mgmt.event_mgmt_integration", "push_admin"];
      await post("users", { name: as.user, password: as.password, roles });
      const [first] = await list(kind);
      assert.equal((await post(kind, { name: unique("name") }, as)).status, 403);
      assert.equal(
        (await post(`${kind}/${encodeURIComponent(first?.name ?? "")}/disable`, undefined, as)).status,
        403,
      );
      const url = `${here.url}/api/topicsync/v1/${kind}`;
      assert.equal((await call(url, { method: "GET", as })).status, 403);
    });

    it("record audit events for every change", async () => {
      const name = unique("name");
      const one = kind.slice(0, -1);
      await post(kind, { name });
      await post(`${kind}/${name}/disable`);
      await post(`${kind}/${name}/enable`);
      const lines = await until("all are recorded", () => {
        const found = here.log.filter((line) => line["audit"] === true && line[one] === name);
        return found.length === 3 && found;
      });
      assert.deepEqual(
        lines.map(({ msg, by }) => [msg, by]),
        ["added", "disabled", "enabled"].map((verb) => [`${one}.${verb}`, bootstrap.user]),
      );
    });
  });
}

describe("the token rule of a platform", () => {
  it("is set, applies to new registrations, and is removed", async () => {
    const name = unique("platform");
    assert.equal((await post("platforms", { name, tokenRule: "apns" })).json.tokenRule, "apns");
    await until("other tokens are rejected", async () => (await register(there, "App", name)) === 400);
    assert.equal(await register(there, "App", name, "ab12".repeat(16)), 200);
    const taken = await post(`platforms/${name}/rule`, { tokenRule: null });
    assert.deepEqual(taken.json, { name, active: true, tokenRule: null });
    await until("any token is accepted", async () => (await register(there, "App", name)) === 200);
    assert.equal((await post(`platforms/${name}/rule`, { tokenRule: "apn" })).status, 400);
    assert.equal((await post(`platforms/${unique("none")}/rule`, { tokenRule: "fcm" })).status, 404);
    assert.equal((await post("applications", { name, tokenRule: "apns" })).status, 400);
    const lines = await until("it is recorded", () => {
      const found = here.log.filter((line) => line["platform"] === name && line.msg === "platform.changed");
      return found.length > 0 && found;
    });
    assert.deepEqual(
      lines.map((line) => line["tokenRule"]),
      [null],
    );
  });
});
