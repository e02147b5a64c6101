import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import type { InstallationRecord } from "../../../src/storage/installations/records.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { bootstrap } from "../../support/service.ts";
import { service } from "../../support/shared-service.ts";

const installations = service.db.collection<InstallationRecord>("sys_push_notif_app_install");
const platforms = service.db.collection<{ _id: string; name: string; active: boolean; token_rule?: string }>(
  "sys_push_platform",
);
const ann = { user: unique("ann"), password: "ann's password" };
const bob = { user: unique("bob"), password: "bob's password" };

service.prepare(async () => {
  for (const { user, password } of [ann, bob]) await service.addUser(user, password);
});

type Caller = typeof ann;
const post = (
  operation: string,
  body: unknown,
  as: Caller | undefined = ann,
  app = "Mobile%20Agent",
): Promise<HttpResponse> => call(`${service.url}/api/now/push/${app}/${operation}`, { body, as });
const register = (token: string, as = ann, platform = "ios"): Promise<HttpResponse> =>
  post("installation", { platform, token }, as);
const remove = (as: Caller = ann, platform = "ios"): Promise<HttpResponse> =>
  post("removeInstallation", { platform }, as);

async function findStored(token: string): Promise<InstallationRecord> {
  const records = await installations.find({ token }).toArray();
  assert.equal(records.length, 1, `one record of ${token}`);
  return records[0] as InstallationRecord;
}

const assertRejected = (response: HttpResponse, code: string): void => {
  assertError(response, 400, code);
};

describe("a path", () => {
  it("is resolved the same way after other requests", async () => {
    const body = { platform: "ios", token: unique("token") };
    const unknown = unique("app");
    for (const times of ["once", "twice"]) {
      for (const app of [unknown, "a%20b", "constructor", "mobile%20agent"]) {
        const rejected = await post("installation", body, ann, app);
        assertRejected(rejected, "UNKNOWN_APPLICATION");
        assert.ok(rejected.json.error.message.includes(`"${decodeURIComponent(app)}"`), times);
      }
      assert.equal((await post("installation", body)).status, 200, times);
      assert.equal((await post("installation?a=b", body)).status, 200, times);
      assertRejected(await post("installation", body, ann, "%zz"), "BAD_REQUEST");
      const url = `${service.url}/api/now/push/Mobile%20Agent/installation`;
      assert.equal((await call(url, { method: "GET", as: ann })).status, 405, times);
    }
  });
});

describe("registering a push token", () => {
  it("returns 200 without a body and stores the token for the caller", async () => {
    const token = unique("token");
    const response = await register(token);
    assert.equal(response.status, 200);
    assert.equal(response.text, "");
    const { user, active, ...rest } = await findStored(token);
    assert.deepEqual({ user, active }, { user: ann.user, active: true });
    assert.match(rest._id, /^[0-9a-f]{32}$/);
  });

  for (const path of ["/api/now/push", "/api/now/v1/push", "/api/now/v2/push"]) {
    it(`works under ${path}`, async () => {
      const token = unique("token");
      const url = `${service.url}${path}/Now%20Mobile/installation`;
      assert.equal((await call(url, { body: { platform: "android", token }, as: ann })).status, 200);
      await findStored(token);
    });
  }

  it("updates the record when the same token is registered again", async () => {
    const token = unique("token");
    await register(token);
    const first = await findStored(token);
    await register(token);
    const second = await findStored(token);
    assert.equal(second._id, first._id);
    assert.deepEqual(second.sys_created_on, first.sys_created_on);
    assert.ok(second.last_seen_on >= first.last_seen_on);
  });

  it("keeps one record when the same token is registered many times at once", async () => {
    const token = unique("token");
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, i) => register(token, i % 2 === 0 ? ann : bob)),
    );
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    await findStored(token);
  });

  it("moves the token to another user who registers it, and records the previous owner", async () => {
    const token = unique("token");
    await register(token, ann);
    await register(token, bob);
    const moved = await findStored(token);
    assert.equal(moved.user, bob.user);
    assert.deepEqual(
      moved.previous_owners?.map(({ user }) => user),
      [ann.user],
    );
    assert.ok(moved.previous_owners[0]?.until instanceof Date);
    await register(token, ann);
    assert.deepEqual(
      (await findStored(token)).previous_owners?.map(({ user }) => user),
      [ann.user, bob.user],
    );
  });

  it("replaces the caller's previous token in the same request", async () => {
    const [old, renewed, theirs] = [unique("old"), unique("new"), unique("theirs")] as const;
    await Promise.all([register(old), register(theirs, bob)]);
    const rotate = (token: string, previousToken: unknown): Promise<HttpResponse> =>
      post("installation", { platform: "ios", token, previousToken });
    assert.equal((await rotate(renewed, old)).status, 200);
    assert.equal((await findStored(renewed)).active, true);
    const { active, deactivated_reason: reason } = await findStored(old);
    assert.deepEqual({ active, reason }, { active: false, reason: "replaced by a new token" });
    // Another user's token, an unknown one, the same one, and none: only the registration takes effect.
    for (const previous of [theirs, unique("unknown"), renewed, null])
      assert.equal((await rotate(renewed, previous)).status, 200);
    assert.equal((await findStored(theirs)).active, true);
    assert.equal((await findStored(renewed)).active, true);
    assertRejected(await rotate(renewed, { $ne: "" }), "SCHEMA_VIOLATION");
  });

  it("stores attributes of the device as a whole, and keeps them unless others are sent", async () => {
    const token = unique("token");
    const send = async (attributes?: unknown, as = ann): Promise<unknown> => {
      assert.equal((await post("installation", { platform: "ios", token, attributes }, as)).status, 200);
      return (await findStored(token)).attributes;
    };
    const given = { appVersion: "4.2.1", locale: "de-AT", constructor: "$set" };
    assert.deepEqual(await send(given), given);
    assert.deepEqual(await send(), given);
    assert.deepEqual(await send(null), given);
    await remove();
    assert.deepEqual(await send(), given);
    assert.deepEqual(await send({ locale: "en", appVersion: null }), { locale: "en" });
    assert.equal(await send(undefined, bob), undefined);
    assert.deepEqual(await send(given, ann), given);
    assert.equal(await send({}), undefined);
  });

  it("accepts at most 20 attributes, with names and texts of at most 100 characters", async () => {
    const send = (attributes: unknown): Promise<HttpResponse> =>
      post("installation", { platform: "ios", token: unique("token"), attributes });
    const many = (count: number): object =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`a${i}`.padEnd(100, "-"), "😀".repeat(100)]),
      );
    assert.equal((await send(many(20))).status, 200);
    for (const [attributes, path] of [
      [many(21), "/attributes"],
      [[["locale", "de"]], "/attributes"],
      ["locale=de", "/attributes"],
      [{ [`a${"b".repeat(100)}`]: "1" }, `/attributes/a${"b".repeat(100)}`],
      [{ locale: "x".repeat(101) }, "/attributes/locale"],
      [{ locale: "" }, "/attributes/locale"],
      [{ locale: 1 }, "/attributes/locale"],
      [{ locale: { $ne: "" } }, "/attributes/locale"],
      [{ "a.b": "1" }, "/attributes/a.b"],
      [{ $where: "1" }, "/attributes/$where"],
      [{ "": "1" }, "/attributes/"],
    ] as const) {
      const response = await send(attributes);
      assertRejected(response, "SCHEMA_VIOLATION");
      assert.equal(response.json.error.details[0].path, path);
    }
    const text = '{"platform":"ios","token":"t","attributes":{"__proto__":"x"}}';
    assertRejected(await post("installation", text), "SCHEMA_VIOLATION");
  });

  it("applies the platform's token rule to every spelling of a token", async () => {
    const platform = unique("apns");
    await platforms.insertOne({ _id: unique("id"), name: platform, active: true, token_rule: "apns" });
    const token = randomBytes(32).toString("hex");
    assert.equal((await register(token.toUpperCase(), ann, platform)).status, 200);
    assert.equal((await register(token, ann, platform)).status, 200);
    assert.equal((await findStored(token)).active, true);
    const renewed = randomBytes(32).toString("hex");
    const body = { platform, token: renewed, previousToken: token.toUpperCase() };
    assert.equal((await post("installation", body)).status, 200);
    assert.equal((await findStored(token)).active, false);
    const rejected = await register("not hexadecimal", ann, platform);
    assertRejected(rejected, "BAD_TOKEN");
    assert.equal(rejected.json.error.details[0].path, "/token");
    const previous = await post("installation", { platform, token, previousToken: "-" });
    assert.equal(previous.json.error.details[0].path, "/previousToken");
  });

  it("rejects an unknown application and an unknown platform by name", async () => {
    const application = await post("installation", { platform: "ios", token: "t" }, ann, "Nothing");
    assertRejected(application, "UNKNOWN_APPLICATION");
    assert.match(application.json.error.message, /"Nothing"/);
    const platform = await register("t", ann, "symbian");
    assertRejected(platform, "UNKNOWN_PLATFORM");
    assert.deepEqual(
      platform.json.error.details.map((one: { path: string }) => one.path),
      ["/platform"],
    );
  });

  it("rejects invalid bodies and other content types with 400", async () => {
    for (const body of [
      {},
      { platform: "ios" },
      { platform: "", token: "" },
      { platform: { $ne: 1 }, token: ["t"] },
      [],
    ]) {
      assertRejected(await post("installation", body), "SCHEMA_VIOLATION");
    }
    assertRejected(await post("installation", "{"), "MALFORMED_JSON");
    const url = `${service.url}/api/now/push/Mobile%20Agent/installation`;
    const xml = await call(url, { body: "<a/>", as: ann, headers: { "Content-Type": "application/xml" } });
    assertRejected(xml, "UNSUPPORTED_MEDIA_TYPE");
    const charset = { "Content-Type": "application/json; charset=utf-7" };
    assertRejected(await call(url, { body: "{}", as: ann, headers: charset }), "UNSUPPORTED_MEDIA_TYPE");
    assertRejected(await register("t".repeat(4_097)), "SCHEMA_VIOLATION");
    assert.equal((await register("t".repeat(4_096))).status, 200);
  });

  it("returns 401 without credentials and 400 for a malformed path", async () => {
    assert.equal(
      (await post("installation", { platform: "ios", token: "t" }, { ...ann, password: "no" })).status,
      401,
    );
    assert.equal(
      (await call(`${service.url}/api/now/push/x/installation`, { body: {}, as: undefined })).status,
      401,
    );
    assertRejected(
      await post("installation", { platform: "ios", token: "t" }, ann, "%E0%A4%A"),
      "BAD_REQUEST",
    );
  });
});

describe("removing push tokens", () => {
  it("deactivates all of the caller's tokens for the application and platform, and no others", async () => {
    const [one, two, android, theirs] = [unique("t"), unique("t"), unique("t"), unique("t")] as const;
    await Promise.all([
      register(one),
      register(two),
      register(android, ann, "android"),
      register(theirs, bob),
    ]);
    const response = await remove();
    assert.deepEqual([response.status, response.text], [200, ""]);
    for (const token of [one, two]) {
      const { active, deactivated_on, deactivated_reason } = await findStored(token);
      assert.equal(active, false);
      assert.ok(deactivated_on instanceof Date);
      assert.match(deactivated_reason ?? "", /removed/);
    }
    assert.equal((await findStored(android)).active, true);
    assert.equal((await findStored(theirs)).active, true);
  });

  it("returns 200 if nothing was registered", async () => {
    assert.equal(
      (await post("removeInstallation", { platform: "android" }, bob, "Now%20Mobile")).status,
      200,
    );
  });

  it("is undone by registering again", async () => {
    const token = unique("token");
    await register(token);
    await remove();
    await register(token);
    const { active, deactivated_on, deactivated_reason } = await findStored(token);
    assert.deepEqual(
      { active, deactivated_on, deactivated_reason },
      {
        active: true,
        deactivated_on: undefined,
        deactivated_reason: undefined,
      },
    );
  });

  it("deactivates only the caller's own tokens, regardless of the caller's roles", async () => {
    const [own, theirs] = [unique("t"), unique("t")] as const;
    await Promise.all([register(own, bootstrap, "android"), register(theirs, bob, "android")]);
    assert.equal((await remove(bootstrap, "android")).status, 200);
    const { active, deactivated_reason: reason } = await findStored(own);
    assert.deepEqual({ active, reason }, { active: false, reason: "removed by its user" });
    assert.equal((await findStored(theirs)).active, true);
  });

  it("deactivates a single token of the caller, in any spelling that the platform's rule accepts", async () => {
    const platform = unique("apns");
    await platforms.insertOne({ _id: unique("id"), name: platform, active: true, token_rule: "apns" });
    const [one, other, theirs] = [0, 1, 2].map(() => randomBytes(32).toString("hex")) as [
      string,
      string,
      string,
    ];
    await Promise.all([
      register(one, ann, platform),
      register(other, ann, platform),
      register(theirs, bob, platform),
    ]);
    for (const token of [one.toUpperCase(), theirs, randomBytes(32).toString("hex")])
      assert.equal((await post("removeInstallation", { platform, token })).status, 200);
    assert.equal((await findStored(one)).active, false);
    assert.equal((await findStored(other)).active, true);
    assert.equal((await findStored(theirs)).active, true);
    assertRejected(await post("removeInstallation", { platform, token: "not hexadecimal" }), "BAD_TOKEN");
    assert.equal((await post("removeInstallation", { platform, token: null, scope: null })).status, 200);
    assert.equal((await findStored(other)).active, false);
  });

  it('deactivates all users\' tokens with the scope "all", which requires push_admin', async () => {
    const [mine, theirs] = [unique("t"), unique("t")] as const;
    await Promise.all([register(mine, ann, "android"), register(theirs, bob, "android")]);
    const body = { platform: "android", scope: "all" };
    assertError(await post("removeInstallation", body), 403, "FORBIDDEN");
    assert.equal((await findStored(mine)).active, true);
    assertRejected(await post("removeInstallation", { ...body, token: mine }, bootstrap), "SCHEMA_VIOLATION");
    assertRejected(await post("removeInstallation", { ...body, scope: "own" }), "SCHEMA_VIOLATION");
    assert.equal((await post("removeInstallation", body, bootstrap)).status, 200);
    assert.equal((await findStored(mine)).active, false);
    assert.match((await findStored(theirs)).deactivated_reason ?? "", new RegExp(bootstrap.user));
  });

  it("rejects an unknown application, platform or member", async () => {
    assertRejected(
      await post("removeInstallation", { platform: "ios" }, ann, "Nothing"),
      "UNKNOWN_APPLICATION",
    );
    assertRejected(await post("removeInstallation", { platform: "x" }), "UNKNOWN_PLATFORM");
    assertRejected(await post("removeInstallation", { platform: "ios", tokens: "t" }), "SCHEMA_VIOLATION");
  });
});
