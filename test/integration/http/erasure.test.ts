/** A person is erased: nothing in the database and no response has the name any more. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { operations } from "../../../docs/contracts.ts";
import { digestName } from "../../../src/users/erasure.ts";
import { assertError, call, type Call, type HttpResponse } from "../../support/http.ts";
import { audience, startIssuer } from "../../support/issuer.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { definition, useService } from "../../support/scene.ts";
import { bootstrap, runCli } from "../../support/service.ts";
import { keepSecret } from "../../support/secrets.ts";

const issuer = await startIssuer();
const service = useService({
  ...{ OIDC_AUDIENCE: audience, OIDC_ISSUER: issuer.url },
  ...{ PUSH_APPLICATIONS: "agent", PUSH_PLATFORMS: "ios" },
});
const password = "a password of a person";
const v1 = (path: string): string => `${service.url}/api/topicsync/v1${path}`;
const jobs = () => service.db.collection<{ _id: string; next_on: Date }>("topicsync_jobs");

async function send(url: string, options: Call = {}): Promise<HttpResponse> {
  const response = await call(url, options);
  assert.ok(response.status < 300, `${url}: ${response.text}`);
  return response;
}
const erase = (name: string, as: Call["as"] = bootstrap) =>
  call(v1(`/users/${encodeURIComponent(name)}`), { method: "DELETE", as });
/** As if a minute had passed. */
const passTime = (name: string) =>
  jobs().updateOne({ _id: `erase:${name}` }, { $set: { next_on: new Date(0) } });

async function addPerson(roles: readonly string[] = []) {
  const user = unique("person");
  await send(v1("/users"), { body: { name: user, password, roles } });
  return { user, password };
}

const token = (): string => unique("token").padEnd(64, "0");
const register = (own: string, as: Call) =>
  call(`${service.url}/api/now/push/agent/installation`, { ...as, body: { platform: "ios", token: own } });

/** Every document of the database that has a text. */
async function findText(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of await service.db.listCollections().toArray())
    for await (const one of service.db.collection(name).find())
      if (JSON.stringify(one).includes(text)) found.push(`${name}: ${JSON.stringify(one)}`);
  return found;
}

/** Does everything that leaves a name behind. Returns an external id that the person had to do with. */
async function leaveTraces(person: { user: string; password: string }): Promise<string> {
  const as = { as: person };
  const one = definition();
  const { externalId } = one;
  await send(`${service.url}/api/svc_api_notif_mgmt/topic`, { ...as, body: one });
  const change = (body: object) =>
    send(v1(`/topics/${externalId}`), { ...as, method: "PUT", headers: { "If-Match": "*" }, body });
  await change({ ...one, name: "Changed" });
  await change({ ...one, name: "Changed again" });
  const described = { owner: person.user, contact: person.user, consumers: [{ name: person.user }] };
  const describe = (body: object) =>
    send(v1(`/topics/${externalId}/details`), { ...as, method: "PUT", headers: { "If-Match": "*" }, body });
  await describe({ ...described, description: "first" });
  await describe({ ...described, description: "second" });
  const disabled = definition();
  await send(`${service.url}/api/svc_api_notif_mgmt/topic`, { ...as, body: disabled });
  await send(v1(`/topics/${disabled.externalId}/disable`), { ...as });
  const label = { set: unique("set"), plan: "plan" };
  await service.db.collection("topicsync_topic_sets").insertOne({
    ...{
      _id: label.set as never,
      version: 1,
      created_on: new Date(),
      created_by: person.user,
      namespace: [],
    },
    applies: ["somebody", person.user].map((by) => ({
      ...{ plan: by === "somebody" ? "one" : "two", by, started_on: new Date(), ended_on: new Date() },
      ...{ applied: 1, total: 1 },
    })),
  });
  const moved = token();
  await register(token(), as);
  await register(moved, as);
  assert.equal((await register(moved, {})).status, 200, "another user gets the token");
  await send(`${service.url}/api/now/push/agent/removeInstallation`, {
    ...as,
    body: { platform: "ios", scope: "all" },
  });
  await register(token(), as);
  await service.db.collection("topicsync_dead_letters").insertOne({
    ...{ _id: unique("letter") as never, kafka_topic: "old", code: "SCHEMA_VIOLATION", rank: 1 },
    message: `The value "${person.user}" is not valid.`,
  });
  const session = await send(v1("/session"), { as: undefined, body: person });
  keepSecret(session.headers.get("set-cookie")?.split(/[=;]/)[1], session.json.csrfToken);
  return externalId;
}

describe("a person who is erased", () => {
  it("is named nowhere in the database, and in no response", async () => {
    const person = await addPerson([
      "topicsync_admin",
      "push_admin",
      "svc_api_notif_mgmt.event_mgmt_integration",
    ]);
    const externalId = await leaveTraces(person);
    const expiresOn = new Date(Date.now() + 3_600_000).toISOString();
    const key = (
      await send(v1("/keys"), { as: person, body: { name: "ci", roles: ["topics.read"], expiresOn } })
    ).json;
    keepSecret(key.key);
    const kept = (await findText(person.user)).map((one) => one.split(":", 1)[0]);
    // oxfmt-ignore
    assert.deepEqual(
      [...new Set(kept)].toSorted(),
      [
        "svc_api_notif_mgmt_topic",
        "svc_api_notif_mgmt_topic_retired",
        "sys_push_notif_app_install",
        "sys_user",
        "topicsync_dead_letters",
        "topicsync_keys",
        "topicsync_sessions",
        "topicsync_topic_descriptions",
        "topicsync_topic_details",
        "topicsync_topic_sets",
        "topicsync_topic_versions",
      ],
      "every kind of record that can have a name",
    );

    const first = await erase(person.user);
    assert.equal(first.status, 202, first.text);
    assert.equal(first.json.complete, false);
    assert.deepEqual(first.json.keys, [{ id: key.id, name: "ci" }]);
    assert.ok(Date.parse(first.json.repeatOn) > Date.now());
    // Only what is needed to continue.
    assert.equal((await findText(person.user)).length, 2);
    await passTime(person.user);
    const second = await erase(person.user);
    assert.equal(second.status, 200, second.text);
    assert.deepEqual(second.json, {
      ...first.json,
      ...{ complete: true, repeatOn: null, deletedTokens: 2 },
    });
    assert.deepEqual(await findText(person.user), []);

    const { pseudonym } = second.json;
    assert.match(pseudonym, /^erased-[0-9a-f]{16}$/);
    const topic = await send(v1(`/topics/${externalId}`), { method: "GET" });
    assert.equal(topic.json.source.user, pseudonym);
    assert.equal(topic.json.details.changedBy, pseudonym);
    assert.equal(topic.json.details.owner, pseudonym);
    assert.equal(topic.json.details.description, "second");
    for (const {
      method,
      paths: [path = ""],
      access,
    } of operations) {
      if (method !== "GET" || access === "anybody" || path.includes("events")) continue;
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string): string =>
        name === "name" ? String(pseudonym) : externalId,
      );
      assert.ok(!(await call(`${service.url}${url}`, { method: "GET" })).text.includes(person.user), path);
    }
    assertError(await erase(person.user), 404, "NOT_FOUND");
  });

  it("leaves a receipt in the audit log, with a digest in the place of the name", async () => {
    const { user } = await addPerson();
    await erase(user);
    await passTime(user);
    const { json } = await erase(user);
    const line = await until("it is recorded", () =>
      service.log.find(
        (one) => one.msg === "user.erased" && one["complete"] === true && one["pseudonym"] === json.pseudonym,
      ),
    );
    assert.ok(!JSON.stringify(line).includes(user));
    const secret = await service.db.collection("topicsync_secrets").findOne({ _id: "replays" as never });
    assert.equal(line["nameDigest"], digestName(Buffer.from(secret?.["value"].buffer), user));
    assert.equal(line["by"], bootstrap.user);
  });

  it("cannot sign in, register or be added again while the erasure lasts", async () => {
    const person = await addPerson();
    assert.equal((await register(token(), { as: person })).status, 200);
    assert.equal((await erase(person.user)).status, 202);
    assertError(await call(v1("/session"), { as: undefined, body: person }), 401, "UNAUTHENTICATED");
    assertError(await call(v1("/users"), { body: { name: person.user, password } }), 409, "NAME_TAKEN");
    await until(
      "registrations are rejected",
      async () => (await register(token(), { as: person })).status === 401,
    );
    await passTime(person.user);
    // Tokens that were registered until then are found, so another request is needed.
    await until("it is complete", async () => {
      await passTime(person.user);
      return (await erase(person.user)).status === 200;
    });
    assert.deepEqual(await findText(person.user), []);
  });

  it("may be known from OpenID alone, and is rejected until the erasure is complete", async () => {
    const sub = unique("person");
    const as = { as: undefined, headers: { Authorization: `Bearer ${await issuer.token({ sub })}` } };
    assert.equal((await register(token(), as)).status, 200);
    assert.equal((await erase(`oidc:${sub}`)).status, 202);
    const rejected = await until("it is noticed", async () => {
      const response = await register(token(), as);
      return response.status === 401 && response;
    });
    assert.match(rejected.json.error.message, /its user is being erased/);
    await until("it is complete", async () => {
      await passTime(`oidc:${sub}`);
      return (await erase(`oidc:${sub}`)).status === 200;
    });
    assert.deepEqual(await findText(sub), []);
    await until("a new beginning", async () => (await register(token(), as)).status === 200);
  });

  it("must exist, and be somebody else", async () => {
    assertError(await erase(unique("nobody")), 404, "NOT_FOUND");
    const own = await erase(bootstrap.user);
    assertError(own, 403, "FORBIDDEN");
    assert.match(own.json.error.message, /cannot erase yourself/);
    const expiresOn = new Date(Date.now() + 3_600_000).toISOString();
    const { key } = (await send(v1("/keys"), { body: { name: unique("key"), roles: ["admin"], expiresOn } }))
      .json;
    keepSecret(key);
    const byKey = await call(v1(`/users/${bootstrap.user}`), { method: "DELETE", key });
    assertError(byKey, 403, "FORBIDDEN");
  });
});

describe("topicsync users erase", () => {
  let user = "";
  before(async () => {
    ({ user } = await addPerson());
  });

  it("finishes an erasure that was begun", async () => {
    await erase(user);
    await passTime(user);
    const { code, output, errors } = await runCli(["users", "erase", user], service.settings);
    assert.equal(code, 0, errors);
    assert.match(
      output,
      new RegExp(`^erased ${user}, now named erased-[0-9a-f]{16}\ndeleted 0 push tokens\n$`),
    );
    assert.deepEqual(await findText(user), []);
    const empty = await runCli(["users", "erase", ""], service.settings);
    assert.match(empty.errors, /There is no person named ""/);
  });
});
