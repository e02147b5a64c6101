import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import type { Overview } from "../../../schemas/overview.ts";
import { hashPassword } from "../../../src/users/password.ts";
import { roles } from "../../../src/users/user.ts";
import { toBasicAuthorization, call } from "../../support/http.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { stage, waitUntilReady } from "../../support/scene.ts";
import { keepSecret } from "../../support/secrets.ts";
import { bootstrap, type TestService } from "../../support/service.ts";

const password = "a password of a watcher";
const { scene } = stage();
const own = scene();
const users = own.db.collection("sys_user");
const sessions = own.db.collection("topicsync_sessions");
const passwordHash = hashPassword(password);
const path = "/api/topicsync/v1/overview";
let service: TestService;

before(async () => {
  service = await own.start();
  // It says that it is ready before it has looked up the stored positions.
  await waitUntilReady(service);
});

/** Inserts a user directly, which is faster than adding one. */
async function addUser(given: readonly string[] = []): Promise<{ user: string; password: string }> {
  const user = unique("user");
  await users.insertOne({ user_name: user, password_hash: await passwordHash, roles: given, active: true });
  return { user, password };
}

/** Starts a stream and collects what it receives in `text`. */
async function watch(
  headers: Readonly<Record<string, string>> = { Authorization: toBasicAuthorization(bootstrap) },
) {
  const response = await fetch(`${service.url}${path}/events`, {
    headers: { ...headers, Accept: "text/event-stream" },
  });
  const watched = { response, text: "", over: false };
  void (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) watched.text += decoder.decode(bytes as Uint8Array);
  })().finally(() => (watched.over = true));
  return watched;
}

/** The events received so far. */
const parseEvents = ({ text }: { readonly text: string }): Overview[] =>
  text
    .split("\n\n")
    .slice(0, -1)
    .map((event) => JSON.parse(event.slice("data: ".length)) as Overview);

async function signIn(as: { user: string; password: string }): Promise<Record<string, string>> {
  const response = await call(`${service.url}/api/topicsync/v1/session`, { as: undefined, body: as });
  assert.equal(response.status, 200, response.text);
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";", 1);
  keepSecret(cookie.split("=")[1], response.json.csrfToken);
  return { Cookie: cookie, "X-CSRF-Token": response.json.csrfToken };
}

describe("the overview over HTTP", () => {
  it("returns the overview", async () => {
    const json = await until("installations are counted", async () => {
      const response = await call(`${service.url}${path}`, { method: "GET" });
      assert.equal(response.status, 200);
      const overview = response.json as Overview;
      return overview.installations === null ? undefined : overview;
    });
    assert.equal(json.ready, true);
    assert.deepEqual(Object.keys(json.checks), ["mongodb", "kafka", "consumer"]);
    assert.deepEqual([json.installations, json.deadLetters, json.problems], [[], [], []]);
  });

  it("shows dead letters and their problems only with the event management role", async () => {
    const id = unique("rejected");
    await own.send({ externalId: id, name: "" });
    const reader = await addUser([roles.eventManagement]);
    const shown = await until("it is shown", async () => {
      const { json } = await call(`${service.url}${path}`, { method: "GET", as: reader });
      return (json as Overview).deadLetters?.find(({ externalId }) => externalId === id);
    });
    assert.equal(shown.code, "SCHEMA_VIOLATION");
    const others = await addUser([roles.pushAdmin, roles.admin]);
    const { json, text } = await call(`${service.url}${path}`, { method: "GET", as: others });
    assert.deepEqual([json.deadLetters, json.problems, text.includes(id)], [null, [], false]);
    const watched = await watch({ Authorization: toBasicAuthorization(others) });
    const [event] = await until(
      "an event has arrived",
      () => parseEvents(watched).length > 0 && parseEvents(watched),
    );
    assert.deepEqual([event?.deadLetters, event?.problems], [null, []]);
    const seen = await watch({ Authorization: toBasicAuthorization(reader) });
    await until("it is streamed", () =>
      parseEvents(seen).some(
        ({ deadLetters }) => deadLetters?.some(({ externalId }) => externalId === id) === true,
      ),
    );
  });

  it("tells users without a role, such as devices, neither errors, addresses nor numbers of tokens", async () => {
    const device = await addUser();
    const { json } = await call(`${service.url}${path}`, { method: "GET", as: device });
    const sync = (await call(`${service.url}/api/topicsync/v1/sync`, { method: "GET", as: device })).json;
    assert.deepEqual([json.installations, json.problems, sync.problems], [null, [], []]);
    assert.deepEqual(json.checks.mongodb, { ok: true });
    for (const { partitions } of [json.sync, sync] as Overview["sync"][])
      assert.deepEqual(
        partitions.map(({ owner, reason }) => [owner, reason]),
        [["a member", null]],
      );
    const operator = await addUser([roles.pushAdmin]);
    const seen = (await call(`${service.url}${path}`, { method: "GET", as: operator })).json;
    assert.deepEqual([seen.installations, seen.sync.partitions[0].owner], [[], "this process"]);
  });

  it("stops streaming when the user signs out, is disabled or loses a role, or the session expires", async () => {
    const [leaving, disabled, demoted, expired, known, staying] = await Promise.all(
      Array.from({ length: 6 }, () => addUser([roles.eventManagement])),
    );
    assert.ok(leaving && disabled && demoted && expired && known && staying);
    const session = await signIn(leaving);
    const ending = {
      "signed out": await watch(session),
      disabled: await watch(await signIn(disabled)),
      "with another role": await watch(await signIn(demoted)),
      "after its time": await watch(await signIn(expired)),
      "disabled, with a password": await watch({ Authorization: toBasicAuthorization(known) }),
    };
    const continuing = await watch(await signIn(staying));
    for (const one of [...Object.values(ending), continuing]) assert.equal(one.response.status, 200);
    const end = `${service.url}/api/topicsync/v1/session/end`;
    assert.equal((await call(end, { as: undefined, headers: session, body: {} })).status, 200);
    for (const { user } of [disabled, known])
      assert.equal((await call(`${service.url}/api/topicsync/v1/users/${user}/disable`)).status, 200);
    await users.updateOne({ user_name: demoted.user }, { $set: { roles: [] } });
    await sessions.updateMany({ user_name: expired.user }, { $set: { expires_on: new Date() } });
    for (const [what, one] of Object.entries(ending)) await until(`it ends: ${what}`, () => one.over);
    const came = parseEvents(continuing).length;
    await until("other streams continue", () => parseEvents(continuing).length > came);
    assert.equal(continuing.over, false);
  });

  it("allows ten streams per user, and new ones after some end", async () => {
    const user = await addUser();
    const headers = { Authorization: toBasicAuthorization(user) };
    const all = await Promise.all(Array.from({ length: 10 }, () => watch(headers)));
    assert.deepEqual([...new Set(all.map(({ response }) => response.status))], [200]);
    assert.equal((await watch(headers)).response.status, 503);
    assert.equal(
      (await watch({ Authorization: toBasicAuthorization(await addUser()) })).response.status,
      200,
    );
    await users.updateOne({ user_name: user.user }, { $set: { active: false } });
    await until("all have ended", () => all.every(({ over }) => over));
    await users.updateOne({ user_name: user.user }, { $set: { active: true } });
    await until("a new stream is accepted", async () => (await watch(headers)).response.status === 200);
  });

  it("streams until the service stops, which does not wait for clients", async () => {
    const watched = await watch();
    assert.equal(watched.response.status, 200);
    assert.equal(watched.response.headers.get("content-type"), "text/event-stream");
    await until("two events have arrived", () => parseEvents(watched).length >= 2);
    assert.equal(parseEvents(watched)[0]?.ready, true);

    const others: (typeof watched)[] = [];
    for (let user = 0; user < 20; user += 1) {
      const headers = { Authorization: toBasicAuthorization(await addUser()) };
      // The first request verifies the password; the others use the cached result.
      others.push(await watch(headers));
      others.push(...(await Promise.all(Array.from({ length: 9 }, () => watch(headers)))));
    }
    const statuses = others.map(({ response }) => response.status);
    assert.deepEqual([...new Set(statuses)], [200, 503], "at most 200 streams in total");
    assert.ok(statuses.filter((status) => status === 200).length < 200);
    assert.equal((await watch()).response.status, 200, "some are left for users with a role");
    assert.equal(await service.stop(), 0);
    await until("all have ended", () => [watched, ...others].every(({ over }) => over));
    assert.ok(
      service.log.every(({ level }) => level < 50),
      "no errors were logged",
    );
  });
});
