import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { UserList } from "../../../schemas/user.ts";
import { hashPassword } from "../../../src/users/password.ts";
import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { service } from "../../support/shared-service.ts";
import { keepSecret } from "../../support/secrets.ts";
import { bootstrap } from "../../support/service.ts";

const users = service.db.collection("sys_user");
const path = "/api/topicsync/v1/users";
const password = "a password of a user";
const events = "svc_api_notif_mgmt.event_mgmt_integration";

const post = (rest: string, body?: unknown, as: Credentials = bootstrap): Promise<HttpResponse> =>
  call(`${service.url}${path}${rest}`, { body, as });
const list = (query = "", as: Credentials = bootstrap): Promise<HttpResponse> =>
  call(`${service.url}${path}${query}`, { method: "GET", as });
const getNames = ({ json }: HttpResponse): string[] => (json as UserList).users.map(({ name }) => name);

interface Credentials {
  readonly user: string;
  readonly password: string;
}

async function addUser(roles: readonly string[] = []): Promise<Credentials> {
  const user = unique("user");
  const { status, text } = await post("", { name: user, password, roles });
  assert.equal(status, 201, text);
  return { user, password };
}

const canLogIn = async (as: Credentials): Promise<boolean> =>
  (await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET", as })).status === 200;

describe("users over HTTP", () => {
  it("are added with roles and a memory-hard hash, and can log in at once", async () => {
    const name = unique("user");
    const { status, json, text } = await post("", { name, password, roles: ["push_admin", "push_admin"] });
    assert.deepEqual([status, json], [201, { name, roles: ["push_admin"], active: true }], text);
    assert.equal(await canLogIn({ user: name, password }), true);
    const record = await users.findOne({ user_name: name });
    assert.match(String(record?.["password_hash"]), /^\$scrypt\$ln=15,r=8,p=3\$[^$]{22}\$[^$]{43}$/);
  });

  it("are listed by name, in pages, and by prefix", async () => {
    const prefix = unique("page");
    for (const end of ["c", "a", "b"])
      assert.equal((await post("", { name: `${prefix}${end}`, password })).status, 201);
    const first = await list(`?prefix=${prefix}&limit=2`);
    assert.deepEqual(getNames(first), [`${prefix}a`, `${prefix}b`]);
    const second = await list(`?prefix=${prefix}&limit=2&after=${first.json.next}`);
    assert.deepEqual([getNames(second), second.json.next], [[`${prefix}c`], null]);
    assert.ok(getNames(await list()).includes(bootstrap.user));
    assert.doesNotMatch((await list()).text, /scrypt|hash/);
  });

  it("are disabled and enabled; a disabled user cannot log in", async () => {
    const ann = await addUser();
    assert.equal((await post(`/${ann.user}/disable`)).json.active, false);
    await until("the password is rejected", async () => !(await canLogIn(ann)));
    assert.equal((await post(`/${ann.user}/enable`)).json.active, true);
    await until("the password is accepted", () => canLogIn(ann));
  });

  it("can log in with an old password that is too short for a new one", async () => {
    const name = unique("user");
    const password_hash = await hashPassword("short");
    await users.insertOne({ user_name: name, password_hash, roles: [], active: true });
    assert.equal(await canLogIn({ user: name, password: "short" }), true);
    const session = `${service.url}/api/topicsync/v1/session`;
    const begun = await call(session, { as: undefined, body: { user: name, password: "short" } });
    keepSecret(begun.headers.get("set-cookie")?.split(/[=;]/)[1], begun.json.csrfToken);
    assert.equal(begun.status, 200);
  });

  it("are granted roles and lose them, including roles that no longer exist", async () => {
    const { user } = await addUser(["push_admin"]);
    await users.updateOne({ user_name: user }, { $push: { roles: "of old" as never } });
    const { json } = await post(`/${user}/roles`, { add: [events], remove: ["push_admin", "of old"] });
    assert.deepEqual(json, { name: user, roles: [events], active: true });
  });

  it("lose their sessions at once when they get a new password or are disabled", async () => {
    for (const [change, body] of [
      ["password", { password: "another password" }],
      ["disable", undefined],
    ] as const) {
      const { user } = await addUser();
      const session = `${service.url}/api/topicsync/v1/session`;
      const begun = await call(session, { as: undefined, body: { user, password } });
      const [cookie = ""] = (begun.headers.get("set-cookie") ?? "").split(";", 1);
      keepSecret(cookie.split("=")[1], begun.json.csrfToken);
      const getSession = () => call(session, { method: "GET", as: undefined, headers: { Cookie: cookie } });
      assert.equal((await getSession()).status, 200);
      assert.equal((await post(`/${user}/${change}`, body)).status, 200);
      assert.equal((await getSession()).status, 401, change);
    }
  });

  it("are granted nothing that lasts for a password that was replaced, or after they were disabled", async () => {
    for (const [change, body] of [
      ["password", { password: "another password" }],
      ["disable", undefined],
    ] as const) {
      const as = await addUser(["admin"]);
      assert.equal((await list("", as)).status, 200, "the credential is remembered");
      assert.equal((await post(`/${as.user}/${change}`, body)).status, 200);
      const expiresOn = new Date(Date.now() + 3_600_000).toISOString();
      for (const [rest, given] of [
        ["users", { name: unique("backdoor"), password }],
        ["keys", { name: unique("backdoor"), roles: [], expiresOn }],
        [`users/${as.user}/enable`, undefined],
      ] as const) {
        const granted = await call(`${service.url}/api/topicsync/v1/${rest}`, { body: given, as });
        assertError(granted, 401, "UNAUTHENTICATED");
      }
      const session = `${service.url}/api/topicsync/v1/session`;
      assertError(await call(session, { as: undefined, body: as }), 401, "UNAUTHENTICATED");
      const passwords = { currentPassword: as.password, password: "a password of a thief" };
      const own = await call(`${session}/password`, { as, body: passwords });
      assert.ok([401, 403].includes(own.status), own.text);
    }
  });

  it("cannot lock themselves out", async () => {
    const own = bootstrap.user;
    const disabled = await post(`/${own}/disable`);
    const demoted = await post(`/${own}/roles`, { remove: ["topicsync_admin"] });
    for (const response of [disabled, demoted]) assertError(response, 403, "FORBIDDEN");
    assert.match(disabled.json.error.message, /cannot disable yourself/);
    assert.match(disabled.json.error.detail, /Another user with the right admin/);
    assert.deepEqual((await post(`/${own}/roles`, { add: ["topicsync_admin"] })).status, 200);
  });

  it("are rejected with a name that is taken or invalid, a missing or short password, or unknown roles", async () => {
    const { user } = await addUser();
    assertError(await post("", { name: user, password }), 409, "NAME_TAKEN");
    for (const [rest, body, at] of [
      ["", { name: "b:b", password }, "/name"],
      ["", { name: "", password }, "/name"],
      ["", { name: "line\nbreak", password }, "/name"],
      ["", { name: unique("user"), password: "" }, "/password"],
      ["", { name: unique("user"), password: "seven77" }, "/password"],
      ["", { name: unique("user"), password, roles: ["king"] }, "/roles/0"],
      [`/${user}/roles`, { add: ["king"] }, "/add/0"],
      [`/${user}/password`, { password: "" }, "/password"],
      [`/${user}/password`, { password: "seven77" }, "/password"],
    ] as const) {
      const { status, json } = await post(rest, body);
      assert.deepEqual([status, json.error.details[0].path], [400, at], JSON.stringify(body));
    }
    for (const body of [{}, { add: ["push_admin"], remove: ["push_admin"] }])
      assert.equal((await post(`/${user}/roles`, body)).status, 400);
    for (const rest of ["/disable", "/enable"])
      assert.equal((await post(`/${unique("nobody")}${rest}`)).status, 404);
    assert.equal((await post(`/${unique("nobody")}/password`, { password })).status, 404);
    assert.equal((await list("?after[$ne]=x")).status, 400);
  });

  it("are audited with every change over HTTP and on the command line, without passwords", async () => {
    const { user } = await addUser(["push_admin"]);
    await post(`/${user}/roles`, { add: [events] });
    await post(`/${user}/password`, { password: "a password that nobody may see" });
    await post(`/${user}/disable`);
    await post(`/${user}/enable`);
    const lines = await until("all are recorded", () => {
      const found = service.log.filter((line) => line["audit"] === true && line["user"] === user);
      return found.length === 5 && found;
    });
    const by = { via: "http", by: bootstrap.user, from: "127.0.0.1" };
    assert.deepEqual(
      lines.map(({ msg, via, by: who, from, roles }) => ({ msg, via, by: who, from, roles })),
      [
        { msg: "user.added", ...by, roles: ["push_admin"] },
        { msg: "user.changed", ...by, roles: ["push_admin", events] },
        ...["user.password-changed", "user.disabled", "user.enabled"].map((msg) => {
          return { msg, ...by, roles: undefined };
        }),
      ],
    );
  });
});
