import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { findFreePort } from "@topicsync/embedded";
import { exitCodes } from "@topicsync/lib/errors";
import type { ImpactResult } from "../../../schemas/impact.ts";
import type { PickResponse } from "../../../schemas/pick.ts";
import { operations } from "../../../src/operations/index.ts";
import { createBackfillRecord } from "../../support/backfills.ts";
import { call } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { parseNdjson, toNdjson } from "../../support/ndjson.ts";
import { until } from "../../support/poll.ts";
import { stage, useService } from "../../support/scene.ts";
import { bootstrap, runCli } from "../../support/service.ts";

const service = useService();
const { producer } = stage();
const { KAFKA_ANNOUNCEMENTS_TOPIC: topic = "" }: Readonly<Record<string, string>> = service.settings;
const api = "/api/topicsync/v1";

/** A client that has nothing but an address and credentials. */
const remote = () => ({
  TOPICSYNC_SERVER: service.url,
  TOPICSYNC_USER: bootstrap.user,
  TOPICSYNC_PASSWORD: bootstrap.password,
});

interface Comparison {
  readonly args: readonly string[];
  readonly input?: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
  readonly ifMatch?: string;
  /** The member of the response whose items the command prints one per line. */
  readonly lines?: string;
}

const definition = { name: "One", namespace: "n", headerQuery: "eventType=A", contentQuery: "" };
const password = "a long password";
const apnsToken = (n: number): string => String(n).padStart(64, "0");

/** For each operation with a command: a request that can be repeated, and the command that does the same. */
const comparisons: Readonly<Record<string, Comparison>> = {
  listUsers: { args: ["users", "list"], method: "GET", path: "/users?limit=1000" },
  getUser: { args: ["users", "show", "ann"], method: "GET", path: "/users/ann" },
  changeRoles: {
    args: ["users", "roles", "ann", "--add", "admin"],
    path: "/users/ann/roles",
    body: { add: ["admin"] },
  },
  setPassword: {
    args: ["users", "passwd", "ann"],
    input: password,
    path: "/users/ann/password",
    body: { password },
  },
  disableUser: { args: ["users", "disable", "ann"], path: "/users/ann/disable" },
  enableUser: { args: ["users", "enable", "ann"], path: "/users/ann/enable" },
  listKeys: { args: ["keys", "list"], method: "GET", path: "/keys" },
  listApplications: { args: ["applications", "list"], method: "GET", path: "/applications" },
  getApplication: { args: ["applications", "show", "agent"], method: "GET", path: "/applications/agent" },
  disableApplication: { args: ["applications", "disable", "agent"], path: "/applications/agent/disable" },
  enableApplication: { args: ["applications", "enable", "agent"], path: "/applications/agent/enable" },
  listPlatforms: { args: ["platforms", "list"], method: "GET", path: "/platforms" },
  getPlatform: { args: ["platforms", "show", "ios"], method: "GET", path: "/platforms/ios" },
  disablePlatform: { args: ["platforms", "disable", "ios"], path: "/platforms/ios/disable" },
  enablePlatform: { args: ["platforms", "enable", "ios"], path: "/platforms/ios/enable" },
  setTokenRule: {
    args: ["platforms", "rule", "ios", "apns"],
    path: "/platforms/ios/rule",
    body: { tokenRule: "apns" },
  },
  listInstallations: {
    args: ["installations", "list", "--user", "ann", "--token", "token-of-ann-0123456789"],
    method: "GET",
    path: "/installations?user=ann&tokenSuffix=n-0123456789",
    lines: "installations",
  },
  listEventTypes: { args: ["events", "types"], method: "GET", path: "/event-types" },
  listTopics: { args: ["topics", "list"], method: "GET", path: "/topics", lines: "topics" },
  getTopic: { args: ["topics", "show", "a/b %?"], method: "GET", path: "/topics/a%2Fb%20%25%3F" },
  changeTopic: {
    args: ["topics", "change", "one", "--if-version", "1", "--name", "One", "--namespace", "n"],
    method: "PUT",
    path: "/topics/one",
    body: { externalId: "one", ...definition },
    ifMatch: '"1"',
  },
  describeTopic: {
    args: ["topics", "describe", "one", "--owner", "noc", "--if-version", "1"],
    method: "PUT",
    path: "/topics/one/details",
    body: { owner: "noc" },
    ifMatch: '"1"',
  },
  restoreTopic: {
    args: ["topics", "restore", "one", "--version", "1"],
    path: "/topics/one/restore",
    body: { version: 1 },
  },
  listTopicVersions: {
    args: ["topics", "history", "one"],
    method: "GET",
    path: "/topics/one/versions",
    lines: "versions",
  },
  getTopicUsage: { args: ["topics", "usage", "one"], method: "GET", path: "/topics/one/usage" },
  listBackfills: { args: ["backfills", "list"], method: "GET", path: "/backfills" },
  getBackfill: { args: ["backfills", "show", "b1"], method: "GET", path: "/backfills/b1" },
  cancelBackfill: { args: ["backfills", "cancel", "b1"], path: "/backfills/b1/cancel" },
  disableTopic: { args: ["topics", "disable", "one"], path: "/topics/one/disable" },
  enableTopic: { args: ["topics", "enable", "one"], path: "/topics/one/enable" },
  listDeadLetters: {
    args: ["dead-letters", "list", "--code", "KEY_MISMATCH", "MALFORMED_JSON", "--newer-than", "1d"],
    method: "GET",
    path: "/dead-letters?code=MALFORMED_JSON",
    lines: "deadLetters",
  },
  getDeadLetter: {
    args: ["dead-letters", "show", `${topic}-0-0`],
    method: "GET",
    path: `/dead-letters/${topic}-0-0`,
  },
  listTopicSets: { args: ["topics", "sets"], method: "GET", path: "/topic-sets" },
};

/** Tested otherwise: they make something new each time, or are part of commands that do more. */
const inOtherTests = [
  ...["addUser", "createKey", "deleteKey", "addApplication", "addPlatform", "createTopic"],
  ...["lookUpTopics", "applyTopicChanges", "getDatabase", "previewImpact", "changeTopics"],
  ...["deactivateInstallations", "importInstallations", "getEventType", "pickTopics"],
  ...["replayDeadLetters", "eraseUser", "createBackfill"],
];

/** Their commands work with the database and Kafka of the settings, or there are none. */
const withoutServer = [
  ...["registerInstallation", "removeInstallation", "listOwnInstallations", "lookUpInstallations"],
  ...["checkTopic", "getTopicSet", "getTopicRelations", "getSyncStatus", "getOverview", "streamOverview"],
  ...["getReplayOutcomes", "listEvents", "getEvent", "sendEvents"],
];

describe("a command on a server, and in its own process", () => {
  service.prepare(async () => {
    for (const args of [
      ["users", "add", "ann"],
      ["applications", "add", "agent"],
      ["platforms", "add", "ios"],
      ["topics", "add", "--external-id", "a/b %?", "--name", "Other"],
      ["topics", "add", "--external-id", "one", "--name", "One", "--namespace", "n"],
    ]) {
      const { code, errors } = await runCli(args, remote(), password);
      assert.equal(code, 0, errors);
    }
    await service.db
      .collection<InstallationRecord>("sys_push_notif_app_install")
      .insertMany([installation("token-of-ann-0123456789"), installation("token-of-ann-abcdefghijk")]);
    await service.db
      .collection<{ _id: string }>("topicsync_backfills")
      .insertOne(createBackfillRecord("one", "n", "b1"));
    const key = await runCli(["keys", "create", "sender", "--role", "admin"], remote());
    assert.match(key.output, /^tsk_/, key.errors);
    const details = { method: "PUT", body: {}, headers: { "If-Match": '"0"' } };
    await call(`${service.url}${api}/topics/one/details`, details);
    await producer.send({ topic, messages: [{ key: "one", value: "{" }] });
    await until("it is rejected", async () => {
      const { json } = await call(`${service.url}${api}/dead-letters`, { method: "GET" });
      return json.total === 1;
    });
    const filter = {
      method: "PUT",
      body: { externalId: "one", ...definition },
      headers: { "If-Match": '"1"' },
    };
    await call(`${service.url}${api}/topics/one`, filter);
  });

  for (const [id, { args, input = "", method, path, body, ifMatch, lines }] of Object.entries(comparisons))
    it(`${args.slice(0, 2).join(" ")} prints the JSON of ${id}`, async () => {
      const { json, status, text } = await call(`${service.url}${api}${path}`, {
        ...(method !== undefined && { method }),
        ...(body !== undefined && { body }),
        ...(ifMatch !== undefined && { headers: { "If-Match": ifMatch } }),
      });
      assert.equal(status, 200, text);
      for (const settings of [remote(), service.settings]) {
        const { code, output, errors } = await runCli([...args, "--json"], settings, input);
        assert.equal(code, 0, errors);
        assert.deepEqual(
          lines === undefined ? JSON.parse(output) : parseNdjson(output),
          lines ? json[lines] : json,
        );
      }
    });

  it("are compared for every operation", () => {
    assert.deepEqual(
      [...Object.keys(comparisons), ...inOtherTests, ...withoutServer].toSorted(),
      operations.map(({ id }) => id).toSorted(),
    );
  });
});

it("pick prints the JSON of pickTopics for each line, also of a large event and a CloudEvent", async () => {
  const record = '{"$key":"a b"}';
  const query = new URLSearchParams({ explain: "one", at: "2100-01-01T00:00:00.000Z", record }).toString();
  const events = [
    { eventType: "A", event: { text: "x".repeat(200_000) } },
    { specversion: "1.0", id: "1", source: "/", type: "t", data: { eventType: "A" } },
  ];
  const url = `${service.url}/api/svc_api_notif_mgmt/topic/pick?${query}`;
  const expected = await Promise.all(
    events.map(async (body, at) => {
      const { json } = await call(url, { body });
      return { event: `-:${at + 1}`, ...(json as PickResponse) };
    }),
  );
  assert.equal(typeof expected[0]?.explain?.version, "number");
  const args = ["pick", "--ndjson", "-", "--json", "--explain", "one", "--at", "2100-01-01T00:00:00Z"];
  for (const settings of [remote(), service.settings]) {
    const { code, output, errors } = await runCli(
      [...args, "--record", record],
      settings,
      toNdjson(...events),
    );
    assert.equal(code, 0, errors);
    assert.deepEqual(parseNdjson(output), expected);
  }
});

describe("installations on a server", () => {
  it("are imported, listed and swept, with the rights and the audit of the operations", async () => {
    const old = new Date(0).toISOString();
    const one = { application: "agent", platform: "ios", user: "bob", active: true };
    const times = { createdOn: old, updatedOn: old, lastSeenOn: old };
    const lines = Array.from({ length: 201 }, (_, n) => ({ ...one, ...times, token: apnsToken(n) }));
    const given = toNdjson(
      ...lines,
      { ...lines[0], user: "x".repeat(102_400) },
      { ...lines[0], platform: "symbian" },
    );
    const imported = await runCli(["installations", "import", "-", "--json"], remote(), given);
    assert.deepEqual(
      [imported.code, JSON.parse(imported.output)],
      [3, { added: 201, updated: 0, kept: 0, rejected: 2 }],
    );
    assert.match(imported.errors, /standard input:202: has 102\d{3} bytes; a request has at most/);
    assert.match(imported.errors, /standard input:203: \/platform /);

    const { output } = await runCli(
      ["installations", "list", "--json", "--full-tokens", "--user", "bob"],
      remote(),
    );
    assert.deepEqual(
      (parseNdjson(output) as { token: string }[]).map(({ token }) => token).toSorted(),
      lines.map(({ token }) => token),
    );
    const short = await runCli(["installations", "list", "--token", "abc"], remote());
    assert.deepEqual([short.code, /last 4 characters/.test(short.errors)], [64, true]);

    const sweep = ["installations", "sweep", "--unseen-for", "270d", "--yes"];
    const swept = await runCli(sweep, remote());
    assert.equal(swept.output, "deactivated 201 installations: not seen for 270 days\n", swept.errors);
    const audited = service.log.filter(({ msg }) => msg === "installation.deactivated");
    assert.deepEqual([audited.length, audited[0]?.["by"]], [201, bootstrap.user]);
    const again = await runCli(sweep, remote());
    assert.equal(again.output, "deactivated 0 installations: not seen for 270 days\n");
  });
});

describe("a server", () => {
  it("decides with the rights of the user", async () => {
    await call(`${service.url}${api}/users`, { body: { name: "eve", password, roles: ["topics.read@n"] } });
    const eve = { ...remote(), TOPICSYNC_USER: "eve", TOPICSYNC_PASSWORD: password };
    const list = await runCli(["topics", "list", "--json"], eve);
    assert.deepEqual(
      (parseNdjson(list.output) as { externalId: string }[]).map(({ externalId }) => externalId),
      ["one"],
    );
    const refused = await runCli(["topics", "disable", "one"], eve);
    assert.deepEqual([refused.code, /The right topics\.write is required/.test(refused.errors)], [3, true]);
    const replay = ["dead-letters", "replay", "--all", "--yes"];
    assert.match((await runCli(replay, eve)).errors, /The right dead-letters\.read is required/);
    assert.match((await runCli(replay, remote())).output, /sent 1 of 1 dead letter to/);
    const hidden = await runCli(["topics", "show", "a/b %?"], eve);
    assert.deepEqual([hidden.code, /There is no topic/.test(hidden.errors)], [1, true]);
  });

  it("has the topics of commands that read and import all of them", async () => {
    const run = (args: readonly string[], input?: string, own: Record<string, string> = remote()) =>
      runCli(args, own, input);
    const bodies = [
      { externalId: "all", name: "All" },
      { externalId: "some", name: "Some", contentQuery: "a=1" },
      { externalId: "one", name: "Other" },
      { externalId: "thief", name: "All", contentQuery: "a=2", namespace: "elsewhere" },
    ];
    const input = toNdjson(...bodies);
    const rejected = [{ place: "standard input:3", externalId: "one", code: "DUPLICATE_EXTERNAL_ID" }];
    for (const [dryRun, created, unchanged] of [
      [["--dry-run"], 3, 0],
      [[], 3, 0],
      [[], 0, 3],
    ] as const) {
      const { code, output, errors } = await run(["topics", "import", "-", "--json", ...dryRun], input);
      assert.equal(code, exitCodes.rejected, errors);
      const report = JSON.parse(output) as { rejected: { message: string }[] };
      const shown = report.rejected.map(
        ({ message, ...one }) => (assert.match(message, /a different name/), one),
      );
      assert.deepEqual(
        { ...report, rejected: shown },
        { ...(dryRun.length > 0 && { dryRun: true }), created, unchanged, rejected },
      );
    }
    const exported = await run(["topics", "export", "--external-id", "some"]);
    assert.deepEqual(JSON.parse(exported.output), { ...bodies[1], namespace: "", headerQuery: "" });
    const analyzed = await run(["topics", "analyze", "some", "--json"]);
    assert.equal(analyzed.code, 0, analyzed.errors);
    assert.match((await run(["filters", "check"])).output, /^\d+ topics, all filters are valid\n$/);
    const events = ["--events", "-", "--json"];
    const impact = await run(
      ["topics", "impact", "--topic", "some", "--content-query", "a=3", ...events],
      '{"event":{"a":3}}',
    );
    assert.equal((JSON.parse(impact.output) as ImpactResult).topics[0]?.newly, 1, impact.errors);
    const all = await run(["topics", "impact", "--all", ...events], '{"event":{"a":1}}');
    assert.match(all.output, /"externalId":"some","events":1/, all.errors);
  });

  it("imports each definition that the user may store and no topic excludes", async () => {
    await call(`${service.url}${api}/users`, {
      body: { name: "max", password, roles: ["topics.write@n", "topics.read@n"] },
    });
    const max = { ...remote(), TOPICSYNC_USER: "max", TOPICSYNC_PASSWORD: password };
    const definitions = ["n-1", "a/b %?", "n-2", "n-3"].map((externalId) => ({
      ...{ externalId, name: `Name of ${externalId}`, namespace: "n" },
    }));
    const { code, output, errors } = await runCli(
      ["topics", "import", "-", "--json"],
      max,
      toNdjson(...definitions),
    );
    assert.equal(code, exitCodes.rejected, errors);
    const { created, rejected } = JSON.parse(output) as { created: number; rejected: { place: string }[] };
    assert.deepEqual([created, rejected.map(({ place }) => place)], [3, ["standard input:2"]]);
    const foreign = await runCli(
      ["topics", "import", "-"],
      max,
      toNdjson({ externalId: "elsewhere", name: "Elsewhere", namespace: "m" }),
    );
    assert.deepEqual([foreign.code, /topics\.write/.test(foreign.errors)], [exitCodes.rejected, true]);
    assert.match(foreign.errors, /^stopped after 0 of 1/);
  });

  it("is named with the credentials for it, or the error says what is missing", async () => {
    const wrong = await runCli(["users", "list"], { ...remote(), TOPICSYNC_PASSWORD: "wrong" });
    assert.deepEqual([wrong.code, /password is wrong/.test(wrong.errors)], [exitCodes.rejected, true]);
    const without = await runCli(["users", "list", "--server", service.url], {});
    assert.deepEqual([without.code, /TOPICSYNC_TOKEN/.test(without.errors)], [exitCodes.configuration, true]);
    const dots = await runCli(["users", "list", "--server", service.url], { TOPICSYNC_TOKEN: "tsk_…" });
    assert.deepEqual([dots.code, /no key or token has/.test(dots.errors)], [exitCodes.configuration, true]);
    const nobody = await runCli(
      ["users", "list", "--server", `http://127.0.0.1:${await findFreePort()}`],
      remote(),
    );
    assert.deepEqual(
      [nobody.code, /did not respond: .*ECONN/.test(nobody.errors)],
      [exitCodes.unavailable, true],
    );
    const other = createServer((_request, response) => response.end("<p>Welcome</p>"));
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo;
    const page = await runCli(["users", "list", "--server", `http://127.0.0.1:${port}`], remote());
    other.close();
    assert.deepEqual(
      [page.code, /is it topicsync\?/.test(page.errors)],
      [exitCodes.failure, true],
      page.errors,
    );
    const name = await runCli(["users", "list", "--server", "topicsync"], remote());
    assert.deepEqual([name.code, /an address such as/.test(name.errors)], [exitCodes.configuration, true]);
  });

  it("is not left for the database without a word", async () => {
    const { code, errors } = await runCli(["topics", "egress"], { ...service.settings, ...remote() });
    assert.deepEqual([code, /unset TOPICSYNC_SERVER/.test(errors)], [exitCodes.configuration, true]);
    const local = await runCli(["topics", "list"], { ...service.settings, TOPICSYNC_SERVER: "" });
    assert.equal(local.code, 0, local.errors);
  });

  it("is not asked for a name that would be another path", async () => {
    for (const name of ["", ".", ".."]) {
      const { code, errors } = await runCli(["users", "show", name], remote());
      assert.deepEqual([code, /cannot be part of a URL/.test(errors)], [exitCodes.failure, true], errors);
    }
  });
});
