import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { assertError, call, type HttpResponse } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { service } from "../../support/shared-service.ts";
import { keepSecret } from "../../support/secrets.ts";

const keys = service.db.collection<{ _id: string; name: string; expires_on: Date }>("topicsync_keys");
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

async function create(body: object, key?: string): Promise<HttpResponse> {
  const created = await call(`${service.url}/api/topicsync/v1/keys`, {
    body: { name: unique("key"), roles: [], expiresOn: inAnHour(), ...body },
    ...(key === undefined ? {} : { key }),
  });
  if (created.status === 201) keepSecret(created.json.key);
  return created;
}
const remove = (id: string): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/keys/${id}`, { method: "DELETE" });
const whoAmI = (key: string): Promise<HttpResponse> =>
  call(`${service.url}/api/topicsync/v1/session`, { method: "GET", key });

describe("an API key", () => {
  it("is shown once, and stored as a digest", async () => {
    const name = unique("sender");
    const { status, json } = await create({ name, roles: ["topics.read@sales", "topics.read@sales"] });
    assert.equal(status, 201);
    const { key, ...shown } = json;
    assert.match(key, /^tsk_[\w-]{43}$/);
    assert.deepEqual(
      [shown.roles, shown.createdBy, shown.lastUsedOn],
      [["topics.read@sales"], "bootstrap", null],
    );
    const list = await call(`${service.url}/api/topicsync/v1/keys`, { method: "GET" });
    assert.deepEqual(
      list.json.keys.find((one: { name: string }) => one.name === name),
      shown,
    );
    assert.ok(!list.text.includes(key));
    assert.ok(!JSON.stringify(await keys.find({}).toArray()).includes(key));
  });

  it("lets a program in, with its rights, and keeps the time of last use", async () => {
    const { json } = await create({ roles: ["topics.read@sales"] });
    const { status, json: caller } = await whoAmI(json.key);
    assert.equal(status, 200);
    assert.deepEqual(
      [caller.user, caller.roles, caller.rights, caller.csrfToken],
      [`key:${json.name}`, ["topics.read@sales"], ["topics.read"], null],
    );
    await until("the time of last use is stored", async () => {
      const { json: list } = await call(`${service.url}/api/topicsync/v1/keys`, { method: "GET" });
      return list.keys.find(({ id }: { id: string }) => id === json.id).lastUsedOn !== null;
    });
  });

  it("is rejected once it is deleted or has expired, and so is one that never was", async () => {
    // How long a key that was used is remembered is tested with `createCheckKey`.
    const { json } = await create({});
    assert.equal((await remove(json.id)).status, 204);
    assertError(await remove(json.id), 404, "NOT_FOUND");
    assertError(await whoAmI(json.key), 401, "UNAUTHENTICATED");

    const expiring = (await create({})).json;
    await keys.updateOne({ _id: expiring.id }, { $set: { expires_on: new Date() } });
    assertError(await whoAmI(expiring.key), 401, "UNAUTHENTICATED");
    const unknown = await whoAmI(`tsk_${"x".repeat(43)}`);
    assertError(unknown, 401, "UNAUTHENTICATED");
    assert.match(unknown.headers.get("www-authenticate") ?? "", /Bearer/);
    assertError(await whoAmI("some-token"), 401, "UNAUTHENTICATED");
  });

  it("can be replaced without an interruption: two are valid under one name", async () => {
    const name = unique("sender");
    const [first, second] = [(await create({ name })).json, (await create({ name })).json];
    for (const { key } of [first, second]) assert.equal((await whoAmI(key)).status, 200);
    assertError(await create({ name }), 409, "NAME_TAKEN");
    assert.equal((await remove(first.id)).status, 204);
    assert.equal((await whoAmI(second.key)).status, 200);
    assert.equal((await create({ name })).status, 201);
    await keys.updateOne({ _id: second.id }, { $set: { expires_on: new Date() } });
    assert.equal((await create({ name })).status, 201, "an expired key takes no place");
  });

  it("is created once per place, however many ask at the same time", async () => {
    const name = unique("sender");
    const created = await Promise.all(Array.from({ length: 6 }, () => create({ name })));
    assert.deepEqual(created.map(({ status }) => status).toSorted(), [201, 201, 409, 409, 409, 409]);
  });

  it("is listed in pages", async () => {
    const names = [unique("page"), unique("page"), unique("page")];
    for (const name of names) await create({ name });
    const found: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const query: string = next === "" ? "?limit=2" : `?limit=2&after=${next}`;
      const { json } = await call(`${service.url}/api/topicsync/v1/keys${query}`, { method: "GET" });
      assert.ok(json.keys.length <= 2);
      found.push(...json.keys.map(({ name }: { name: string }) => name));
      next = json.next;
    }
    assert.deepEqual(
      names.filter((name) => found.filter((one) => one === name).length !== 1),
      [],
    );
    const foreign = await call(`${service.url}/api/topicsync/v1/keys?after=x`, { method: "GET" });
    assertError(foreign, 400, "SCHEMA_VIOLATION");
  });

  it("is rejected when the user who made it is disabled, and so is the key that it made", async () => {
    const as = { user: unique("maker"), password: "a password of a maker" };
    const users = `${service.url}/api/topicsync/v1/users`;
    const added = { name: as.user, password: as.password, roles: ["admin"] };
    assert.equal((await call(users, { body: added })).status, 201);
    const body = { name: unique("key"), roles: ["admin"], expiresOn: inAnHour() };
    const made = await call(`${service.url}/api/topicsync/v1/keys`, { as, body });
    keepSecret(made.json.key);
    const child = await create({ roles: ["admin"] }, made.json.key);
    assert.equal((await call(`${users}/${as.user}/disable`)).status, 200);
    for (const { json } of [made, child]) {
      const enable = await call(`${users}/${as.user}/enable`, { key: json.key });
      assertError(enable, 401, "UNAUTHENTICATED");
    }
  });

  it("never has more rights than the caller who creates it", async () => {
    const admin = await createKey(service.url, "admin", "topics.read@sales.*");
    const response = await create({ roles: ["admin", "topics.read@assurance"] }, admin);
    assertError(response, 403, "FORBIDDEN");
    assert.ok(response.json.error.detail.includes("topics.read@assurance"));
    assert.equal((await create({ roles: ["admin", "topics.read@sales.mobile"] }, admin)).status, 201);
  });

  it("needs a name, known rights and a time in the future; all faults are reported at once", async () => {
    const { status, json } = await create({
      name: "a/b",
      roles: ["topics.delete", "admin@x"],
      expiresOn: "x",
    });
    assert.equal(status, 400);
    assert.deepEqual(
      json.error.details.map(({ path }: { path: string }) => path),
      ["/name", "/roles/0", "/roles/1", "/expiresOn"],
    );
    assert.match(json.error.details[1].message, /topics\.read, .*dead-letters\.replay/);
    const past = await create({ expiresOn: "2020-01-01T00:00:00Z" });
    assertError(past, 400, "SCHEMA_VIOLATION");
    assert.match(past.json.error.detail, /must be in the future/);
    assertError(await create({ expiresOn: "9999-01-01T00:00:00Z" }), 400, "SCHEMA_VIOLATION");
  });
});
