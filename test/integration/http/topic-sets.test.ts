import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import type { TopicPlanReport } from "../../../schemas/topics/plan.ts";
import { useFolder } from "../../support/folder.ts";
import { assertError, call } from "../../support/http.ts";
import { createKey } from "../../support/keys.ts";
import { unique } from "../../support/names.ts";
import { keepSecret } from "../../support/secrets.ts";
import { service } from "../../support/shared-service.ts";
import { bootstrap, runCli } from "../../support/service.ts";
import { entry, toActions, toFile } from "../../support/topic-files.ts";

const folder = useFolder();
const v1 = (): string => `${service.url}/api/topicsync/v1`;
const get = (path: string, key?: string) =>
  call(v1() + path, { method: "GET", ...(key === undefined ? {} : { key }) });

/** Runs a command against the server, without any access to the database. */
async function run(args: readonly string[], credentials: Readonly<Record<string, string>>) {
  const settings = { TOPICSYNC_STACK: "none", ...credentials };
  return runCli(["topics", ...args, "--server", service.url], settings);
}
const asUser = { TOPICSYNC_USER: bootstrap.user, TOPICSYNC_PASSWORD: bootstrap.password };
const withKey = (key: string) => ({ TOPICSYNC_TOKEN: key });

/** Writes a file of topics in a namespace, and returns its path. */
const createFile = (
  set: string,
  namespace: string,
  entries: readonly Readonly<Record<string, unknown>>[],
): string => folder.createFile(`${unique("file")}.yaml`, toFile(entries, { set, defaults: { namespace } }));

describe("plans over HTTP", () => {
  it("are those over the database, with the same outcome", async () => {
    const [set, one, two] = [unique("set"), unique("one"), unique("two")];
    const file = createFile(set, "space", [entry(one, { owner: "noc", labels: { a: "1" } }), entry(two)]);
    const planned = await run(["plan", file, "--json", "--origin", "here"], asUser);
    assert.equal(planned.code, 0, planned.errors);
    const direct = await runCli(["topics", "plan", file, "--json", "--origin", "here"], service.settings);
    const [overHttp, overDatabase] = [planned, direct].map(
      ({ output }) => JSON.parse(output) as TopicPlanReport,
    );
    assert.deepEqual(overHttp?.plan.changes, overDatabase?.plan.changes);
    assert.equal(overHttp?.plan.database, overDatabase?.plan.database);

    const applied = await run(["apply", file, "--yes", "--origin", "here"], asUser);
    assert.equal(applied.code, 0, applied.errors);
    assert.equal((await run(["plan", file, "--fail-on-changes", "--origin", "here"], asUser)).code, 0);
    const { json } = await get(`/topics/${one}`);
    assert.partialDeepStrictEqual(json, {
      source: { kind: "http", user: bootstrap.user },
      details: { owner: "noc", set },
    });

    const { json: shown } = await get(`/topic-sets/${set}`);
    assert.partialDeepStrictEqual(shown, {
      name: set,
      origin: "here",
      applies: [{ by: bootstrap.user, applied: 2, total: 2 }],
    });
    assert.ok((await get("/topic-sets")).json.sets.some(({ name }: { name: string }) => name === set));
    assertError(await get("/topic-sets/nothing"), 404, "NOT_FOUND");
    assert.match((await get("/database")).json.id, /^[0-9a-f-]{36}$/);

    assert.deepEqual(shown.drift, { topics: [], next: null });
    const emptied = createFile(set, "space", [entry(one)]);
    assert.equal((await run(["plan", "--drift", "--set", set, "--fail-on-changes"], asUser)).code, 0);
    assert.equal((await runCli(["topics", "disable", two, "--force"], service.settings)).code, 0);
    assert.equal((await run(["plan", "--drift", "--set", set, "--fail-on-changes"], asUser)).code, 2);
    const { path, ...drifted } = (await get(`/topic-sets/${set}`)).json.drift.topics[0];
    const message = "is not active any more";
    assert.deepEqual(drifted, { externalId: two, applied: 1, version: null, message });
    assert.match(path, /\.yaml$/);
    const after = (id: string) => get(`/topic-sets/${set}?after=${id}`);
    assert.deepEqual((await after(two)).json.drift.topics, []);
    assertError(await after(""), 400, "SCHEMA_VIOLATION");
    const stale = await run(["plan", emptied, "--json", "--origin", "elsewhere"], asUser);
    assert.equal(stale.code, 3);
    assert.match(stale.errors, /is applied from here/);
  });

  it("take over topics that a picker finds all the time", async () => {
    const [one, two, topic, value] = [unique("set"), unique("set"), unique("topic"), unique("value")];
    const createFileFor = (set: string): string =>
      createFile(set, "space", [entry(topic, { contentQuery: `a=${value}`, owner: set })]);
    const apply = (file: string, ...more: string[]) =>
      run(["apply", file, "--yes", "--origin", "here", ...more], asUser);
    assert.equal((await apply(createFileFor(one))).code, 0);
    const id = (await get(`/topics/${topic}`)).json.id as string;
    const isPicked = async (): Promise<boolean> => {
      const url = `${service.url}/api/svc_api_notif_mgmt/topic/pick`;
      const { json } = await call(url, { body: { event: { a: value } } });
      return (json.topics as { id: string }[]).some((found) => found.id === id);
    };
    for (const [set, from] of [
      [two, one],
      [one, two],
      [two, one],
    ] as const) {
      const applied = apply(createFileFor(set), "--take-over", from);
      const state = { isApplied: false };
      const end = applied.finally(() => {
        state.isApplied = true;
      });
      do assert.ok(await isPicked(), "the topic is not picked");
      while (!state.isApplied);
      const { code, errors } = await end;
      assert.equal(code, 0, errors);
    }
    assert.equal((await get(`/topics/${topic}`)).json.details.set, two);
  });

  it("are stale like those over the database", async () => {
    const [set, one] = [unique("set"), unique("one")];
    assert.equal(
      (await run(["apply", createFile(set, "space", [entry(one)]), "--yes", "--origin", "here"], asUser))
        .code,
      0,
    );
    const file = createFile(set, "space", [entry(one, { contentQuery: "a=1" })]);
    const plan = join(folder.path, unique("plan"));
    assert.equal((await run(["plan", file, "--out", plan, "--origin", "here"], asUser)).code, 0);
    await service.db
      .collection("svc_api_notif_mgmt_topic")
      .updateOne({ topic_id: one }, { $set: { version: 2 } });
    const { code, errors } = await run(["apply", plan], asUser);
    assert.equal(code, 3);
    assert.match(
      errors,
      new RegExp(`"${one}" has version 2, not 1: the user "${bootstrap.user}" changed it`),
    );
  });

  it("say what is wrong with the credentials, and when the server is not there", async () => {
    const file = createFile("noc", "", [entry("x")]);
    const none = await run(["plan", file], {});
    assert.equal(none.code, 78);
    assert.match(none.errors, /TOPICSYNC_USER and TOPICSYNC_PASSWORD, or TOPICSYNC_TOKEN/);
    const wrong = await run(["plan", file], {
      TOPICSYNC_USER: bootstrap.user,
      TOPICSYNC_PASSWORD: "wrong password",
    });
    assert.equal(wrong.code, 3);
    assert.doesNotMatch(wrong.errors, /wrong password/);
    const settings = { TOPICSYNC_STACK: "none", ...asUser };
    const absent = await runCli(["topics", "plan", file, "--server", "http://127.0.0.1:1"], settings);
    assert.equal(absent.code, 69, absent.errors);
    assert.match(absent.errors, /127\.0\.0\.1:1 did not respond/);
  });
});

describe("rights that are limited to a namespace", () => {
  const [set, own, foreign] = [unique("set"), unique("own"), unique("foreign")];
  let key = "";
  before(async () => {
    key = await createKey(service.url, "topics.read@assurance", "topics.write@assurance");
    keepSecret(key);
    const file = folder.createFile(
      `${unique("file")}.yaml`,
      toFile(
        [entry(own, { namespace: "assurance" }), entry(foreign, { namespace: "sales", name: "foreign" })],
        { set },
      ),
    );
    const { code, errors } = await run(["apply", file, "--yes", "--origin", "here"], asUser);
    assert.equal(code, 0, errors);
  });

  it("show and change the topics of that namespace", async () => {
    const { json } = await call(`${v1()}/topic-look-up`, {
      key,
      body: { set, externalIds: [own, foreign], definitions: [] },
    });
    assert.deepEqual(
      json.topics.map(({ externalId }: { externalId: string }) => externalId),
      [own, own],
    );
    const file = createFile(set, "assurance", [entry(own, { contentQuery: "a=1" })]);
    const planned = await run(["plan", file, "--json", "--origin", "here", "--prune"], withKey(key));
    assert.deepEqual(toActions(JSON.parse(planned.output) as TopicPlanReport), { [own]: "change" });
    assert.equal((await run(["apply", file, "--yes", "--origin", "here"], withKey(key))).code, 0);
  });
});

describe("a topic of a set", () => {
  it("is changed by its files, unless the change is forced", async () => {
    const [set, one] = [unique("set"), unique("one")];
    assert.equal(
      (await run(["apply", createFile(set, "space", [entry(one)]), "--yes", "--origin", "here"], asUser))
        .code,
      0,
    );
    const disable = `${v1()}/topics/${one}/disable`;
    const describe = (query = "") =>
      call(`${v1()}/topics/${one}/details${query}`, {
        method: "PUT",
        body: { owner: "me" },
        headers: { "If-Match": "*" },
      });
    assertError(await call(disable), 409, "MANAGED_BY_SET");
    assertError(await describe(), 409, "MANAGED_BY_SET");
    const body = { externalId: one, name: "other" };
    const headers = { "If-Match": "*" };
    assertError(await call(`${v1()}/topics/${one}`, { method: "PUT", body, headers }), 409, "MANAGED_BY_SET");
    const changes = [{ kind: "disable", externalId: one, version: 1 }];
    assertError(await call(`${v1()}/topic-changes`, { body: { changes } }), 409, "MANAGED_BY_SET");
    const restore = `${v1()}/topics/${one}/restore`;
    assertError(await call(restore, { body: { version: 1 } }), 409, "MANAGED_BY_SET");
    for (const args of [
      ["change", one, "--if-version", "1", "--name", "x"],
      ["restore", one, "--version", "1"],
    ])
      assert.equal((await runCli(["topics", ...args], service.settings)).code, 3, args.join(" "));
    const put = await call(`${v1()}/topics/${one}?force=true`, { method: "PUT", body, headers });
    assert.equal(put.status, 200, put.text);
    const command = await runCli(["topics", "disable", one], service.settings);
    assert.equal(command.code, 3);
    assert.match(
      command.errors,
      new RegExp(`belongs to the set "${set}". Change it in .*\\.yaml and apply them, or force`),
    );
    assert.equal((await runCli(["topics", "describe", one, "--owner", "me"], service.settings)).code, 3);
    assert.equal((await describe("?force=true")).status, 200);
    assert.equal((await call(`${disable}?force=true`)).status, 200);
    assertError(await call(`${disable}?force=yes`), 400, "SCHEMA_VIOLATION");
    const forced = service.log.filter((line) => line["externalId"] === one && line["forced"] === true);
    assert.deepEqual(
      forced.map(({ msg }) => msg),
      ["topic.changed", "topic.described", "topic.disabled"],
    );
  });
});
