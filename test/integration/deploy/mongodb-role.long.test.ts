/** The role in docs/deployment.md allows exactly what the service and the commands send to MongoDB. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { newId } from "@topicsync/lib/sys-id";
import { createBackfillStore } from "../../../src/storage/backfills.ts";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { createDeadLetterReader, createDeadLetterStore } from "../../../src/storage/dead-letters.ts";
import { createReplayKey } from "../../../src/storage/replay-key.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createTopicUsageStore } from "../../../src/storage/topics/usage.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { noWrites } from "../../../src/topics/snapshot.ts";
import { TopicGoneError } from "../../../src/topics/stores.ts";
import { parseBlocks, root } from "../docs/pages.ts";
import { installation } from "../../support/installations.ts";
import { getPort } from "../../support/local.ts";
import { useFolder } from "../../support/folder.ts";
import { createStoredBackfill } from "../../support/backfills.ts";
import { call } from "../../support/http.ts";
import { dialects } from "../../support/mongo-dialects.ts";
import { startMongoProxy } from "../../support/mongo-faults.ts";
import { createPrivilegeRecorder, toPrivileges, readRoles, toLines } from "../../support/mongo-role.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { createKey } from "../../support/keys.ts";
import { keepSecret } from "../../support/secrets.ts";
import { definition, stage } from "../../support/scene.ts";
import { bootstrap, runCli } from "../../support/service.ts";
import { sharedStack } from "../../support/stack.ts";

const { producer, scene } = stage();
const { record: note, privileges } = createPrivilegeRecorder();
const port = getPort(sharedStack().mongodb);
const proxy = await startMongoProxy(port, { onCommand: note });
const withoutTransactions = await startMongoProxy(port, { dialect: dialects["FerretDB 2"], onCommand: note });
const folder = useFolder();

interface Request {
  readonly in?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object;
}

const on = new Date().toISOString();

/** One request per operation, in an order in which each succeeds. */
const requests: Readonly<Record<string, Request>> = {
  "POST /api/svc_api_notif_mgmt/topic": { body: definition("by-hand") },
  "POST /api/svc_api_notif_mgmt/topic/pick": { body: { event: {} } },
  "GET /api/topicsync/v1/topics": { query: "?namespace=inventory&tag=a&q=b" },
  "PUT /api/topicsync/v1/topics/{externalId}/details": { in: { externalId: "by-hand" }, body: {} },
  "GET /api/topicsync/v1/topics/{id}": { in: { id: "by-hand" } },
  "PUT /api/topicsync/v1/topics/{id}": {
    in: { id: "by-hand" },
    body: { ...definition("by-hand"), name: "Changed" },
  },
  "GET /api/topicsync/v1/topics/{id}/versions": { in: { id: "by-hand" } },
  "POST /api/topicsync/v1/topics/{externalId}/restore": {
    in: { externalId: "by-hand" },
    body: { version: 1 },
  },
  "POST /api/topicsync/v1/topic-changes": {
    body: { changes: [{ kind: "create", topic: definition("by-plan") }] },
  },
  "GET /api/topicsync/v1/topics/{id}/usage": { in: { id: "by-hand" } },
  "GET /api/topicsync/v1/topics/{id}/relations": { in: { id: "by-hand" } },
  "POST /api/topicsync/v1/topic-check": { body: definition("new") },
  "POST /api/topicsync/v1/topics/{externalId}/disable": { in: { externalId: "by-hand" } },
  "POST /api/topicsync/v1/topics/{externalId}/enable": { in: { externalId: "by-hand" } },
  "GET /api/topicsync/v1/topic-sets": {},
  "POST /api/topicsync/v1/topic-look-up": { body: { set: "noc", externalIds: ["by-hand"] } },
  "GET /api/topicsync/v1/users": {},
  "POST /api/topicsync/v1/users": { body: { name: "ann", password: "correct horse" } },
  "GET /api/topicsync/v1/users/{name}": { in: { name: "ann" } },
  "POST /api/topicsync/v1/users/{name}/roles": { in: { name: "ann" }, body: { add: ["push_admin"] } },
  "POST /api/topicsync/v1/users/{name}/password": {
    in: { name: "ann" },
    body: { password: "battery staple" },
  },
  "POST /api/topicsync/v1/users/{name}/disable": { in: { name: "ann" } },
  "POST /api/topicsync/v1/users/{name}/enable": { in: { name: "ann" } },
  "GET /api/topicsync/v1/applications": {},
  "POST /api/topicsync/v1/applications": { body: { name: "agent" } },
  "GET /api/topicsync/v1/applications/{name}": { in: { name: "agent" } },
  "POST /api/topicsync/v1/applications/{name}/disable": { in: { name: "agent" } },
  "POST /api/topicsync/v1/applications/{name}/enable": { in: { name: "agent" } },
  "GET /api/topicsync/v1/platforms": {},
  "POST /api/topicsync/v1/platforms": { body: { name: "ios" } },
  "GET /api/topicsync/v1/platforms/{name}": { in: { name: "ios" } },
  "POST /api/topicsync/v1/platforms/{name}/rule": { in: { name: "ios" }, body: { tokenRule: "fcm" } },
  "POST /api/topicsync/v1/platforms/{name}/disable": { in: { name: "ios" } },
  "POST /api/topicsync/v1/platforms/{name}/enable": { in: { name: "ios" } },
  "POST /api/now/push/{application}/installation": {
    in: { application: "agent" },
    body: { platform: "ios", token: `${unique("token")}:APA91b${"x".repeat(120)}` },
  },
  "POST /api/now/push/{application}/removeInstallation": {
    in: { application: "agent" },
    body: { platform: "ios" },
  },
  "GET /api/now/push/my/installations": {},
  "GET /api/topicsync/v1/installations": {},
  "POST /api/topicsync/v1/installations/deactivate": { body: { ids: ["x"], reason: "lost" } },
  "POST /api/topicsync/v1/installations/import": {
    body: {
      installations: [
        {
          ...{ application: "agent", platform: "ios", token: `${unique("token")}:APA91b${"x".repeat(120)}` },
          ...{ user: "ann", active: true, createdOn: on, updatedOn: on, lastSeenOn: on },
        },
      ],
    },
  },
  "POST /api/topicsync/v1/installations/look-up": { body: { users: ["ann"], application: "agent" } },
  "GET /api/topicsync/v1/keys": {},
  "POST /api/topicsync/v1/keys": {
    body: { name: "sender", roles: [], expiresOn: new Date(Date.now() + 3_600_000).toISOString() },
  },
  "GET /api/topicsync/v1/users/{name}/sessions": { in: { name: "ann" } },
  "DELETE /api/topicsync/v1/users/{name}/sessions": { in: { name: "ann" } },
  "GET /api/topicsync/v1/sessions": {},
  "DELETE /api/topicsync/v1/sessions": {},
  "GET /api/topicsync/v1/sync": {},
  "GET /api/topicsync/v1/overview": {},
  "GET /readyz": {},
  "GET /metrics": {},
};

/**
 * Operations without a MongoDB command of their own. Dead letters, keys, sessions and backfills are requested
 * further below; a command applies changes.
 */
const others =
  /\/(?:now|svc_api_notif_mgmt)\/v[12]\/|\/sn_api_notif_mgmt\/|\/overview\/events$|\/session\/(?:sign-in-methods|openid)|^\w+ \/(?:healthz|openapi\.json|docs.*|console.*)?$|dead-letter|\/database$|topic-sets\/\{name\}|event-types|\/v1\/events|\/backfills|\/impact$|\/session(?:\/end|s\/\{id\}|\/password)?$|\/keys\/\{id\}$|^DELETE .*\/users\/\{name\}$/;

/** The commands that send what no operation sends, in an order in which each succeeds. */
const commands: readonly (readonly string[])[] = [
  ["announce", "--wait", "definitions.ndjson"],
  ["topics", "import", "definitions.ndjson"],
  ["topics", "export"],
  ["topics", "describe", "by-hand", "--owner", "ann"],
  ["topics", "describe", "a", "--owner", "ann"],
  ["topics", "apply", "topics.ndjson", "--set", "noc", "--yes"],
  ["topics", "adopt", "--set", "noc", "by-hand"],
  ["topics", "release", "by-hand"],
  ["topics", "plan", "--drift"],
  ["filters", "check"],
  ["positions"],
  ["positions", "set", "push-feedback", "--beginning"],
  ["positions", "set", "dead-letters.announcements", "--end"],
];

it("the role in docs/deployment.md is what the service and the commands need", async () => {
  const own = scene();
  const feedback = unique("feedback");
  const settings = {
    ...own.settings,
    MONGODB_URI: proxy.uri(own.db.databaseName),
    KAFKA_PUSH_FEEDBACK_TOPIC: feedback,
    PUSH_APPLICATIONS: "first",
    PUSH_PLATFORMS: "android",
    PUSH_MAX_TOKENS_PER_USER: "1",
    PUSH_TOKEN_MAX_UNSEEN_DAYS: "1",
    PUSH_DELETE_INACTIVE_DAYS: "1",
  };
  const service = await own.start(settings);

  const a = definition("a");
  for (const [at, one] of [
    a,
    { ...a, name: "Renamed" },
    { ...a, externalId: "b", name: "Renamed" },
    "a",
  ].entries()) {
    await own.send(one);
    await until("it is applied", async () => (await own.applied()) === at + 1);
  }

  const document = JSON.parse(readFileSync(join(root, "docs/openapi.json"), "utf8")) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => ["get", "post", "put", "delete"].includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(
    operations.filter((operation) => !others.test(operation)).toSorted(),
    Object.keys(requests).toSorted(),
    "operations without a request here",
  );
  const send = async (operation: string, { in: parameters = {}, query = "", body }: Request) => {
    const [method = "", template = ""] = operation.split(" ");
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? "");
    const response = await call(`${service.url}${path}${query}`, {
      method,
      headers: method === "PUT" ? { "If-Match": "*" } : {},
      ...(body === undefined ? {} : { body }),
    });
    assert.ok(response.status < 300, `${operation}: ${response.text}`);
    return response;
  };
  for (const [operation, request] of Object.entries(requests)) await send(operation, request);

  const session = `${service.url}/api/topicsync/v1/session`;
  const signedIn = await call(session, { as: undefined, body: bootstrap });
  const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";", 1);
  keepSecret(cookie.split("=")[1], signedIn.json.csrfToken);
  const headers = { Cookie: cookie, "X-CSRF-Token": signedIn.json.csrfToken };
  // As if it had not been used for an hour, so that its use extends it.
  const expiresOn = new Date(Date.now() + 3_600_000);
  await own.db.collection("topicsync_sessions").updateMany({}, { $set: { expires_on: expiresOn } });
  const inSession = async (method: "GET" | "POST" | "DELETE", url: string) => {
    const response = await call(url, { method, as: undefined, headers });
    assert.equal(response.status, method === "DELETE" ? 204 : 200, response.text);
    return response;
  };
  await inSession("GET", session);
  const [{ id }] = (await inSession("GET", `${session}s`)).json.sessions;
  await inSession("DELETE", `${session}s/${id}`);
  const again = await call(session, { as: undefined, body: bootstrap });
  const [other = ""] = (again.headers.get("set-cookie") ?? "").split(";", 1);
  keepSecret(other.split("=")[1], again.json.csrfToken);
  Object.assign(headers, { Cookie: other, "X-CSRF-Token": again.json.csrfToken });
  await inSession("POST", `${session}/end`);
  const ann = { user: "ann", password: "battery staple" };
  const change = { currentPassword: ann.password, password: "a third password" };
  assert.equal((await call(`${session}/password`, { as: ann, body: change })).status, 200);

  const erased = { in: { name: "bea" } };
  await send("POST /api/topicsync/v1/users", { body: { name: "bea", password: "correct horse" } });
  const install = own.db.collection("sys_push_notif_app_install");
  await install.insertOne({ ...installation(unique("token"), { user: "bea" }), _id: unique("id") as never });
  await send("DELETE /api/topicsync/v1/users/{name}", erased);
  const due = { $set: { next_on: new Date(0) } };
  await own.db.collection("topicsync_jobs").updateOne({ _id: "erase:bea" as never }, due);
  await send("DELETE /api/topicsync/v1/users/{name}", erased);

  const [sender] = (await send("GET /api/topicsync/v1/keys", {})).json.keys;
  await send("DELETE /api/topicsync/v1/keys/{id}", { in: { id: sender.id } });
  await call(session, { method: "GET", key: await createKey(service.url, "admin") });

  const letters = await send("GET /api/topicsync/v1/dead-letters", {});
  const ids = letters.json.deadLetters.map(({ id }: { id: string }) => id);
  assert.equal(ids.length, 1);
  await send("POST /api/topicsync/v1/dead-letters/replays", { body: { ids, force: true } });
  await send("POST /api/topicsync/v1/dead-letters/replay-outcomes", { body: { ids } });

  await own.db.collection("sys_push_notif_app_install").updateMany({}, { $set: { active: true } });
  const [installed] = await own.db.collection("sys_push_notif_app_install").find().toArray();
  const report = { platform: "ios", token: installed?.["token"], reason: "Unregistered" };
  await producer.send({ topic: feedback, messages: [{ value: JSON.stringify(report) }] });
  await until(
    "the report is applied",
    async () => (await own.db.collection("sys_push_notif_app_install").findOne())?.["active"] === false,
  );

  folder.createFile("definitions.ndjson", JSON.stringify(definition("c")));
  folder.createFile("topics.ndjson", JSON.stringify(definition("managed")));
  for (const command of commands) {
    const args = command.map((word) => (word.endsWith(".ndjson") ? join(folder.path, word) : word));
    const { code, errors } = await runCli(args, settings);
    assert.equal(code, 0, `${command.join(" ")}: ${errors}`);
  }
  assert.equal(await service.stop(), 0);
  // As an older version leaves it.
  await own.db.collection("topicsync_schema").updateMany({}, { $set: { version: 0 } });
  const next = await own.start(settings);
  await next.stop();

  // What is sent only after conflicts and failures.
  const log = await createLogger("silent");
  const database = createDatabase(withoutTransactions.uri(own.db.databaseName), log);
  await database.connect(new AbortController().signal);
  const store = createTopicStore(database, log, { historyRetentionDays: undefined });
  const [topic] = await store.findByExternalIds(["by-hand"]);
  assert.ok(topic !== undefined);
  const changed = { ...topic, version: topic.version + 1 };
  const retiredBy = { kind: "http", user: "ann" } as const;
  const retired = [{ topic: changed, retiredOn: new Date(), retiredBy }];
  await assert.rejects(
    store.change({ ...noWrites, removed: [changed], retired, enabled: [], renamed: [] }),
    TopicGoneError,
  );
  const sentTo = { topic: "announcements" };
  await createReplayStore(database).remove([
    { deadLetterId: "announcements-0-0", attempt: 1, startedAt: new Date(0), state: "sending", sentTo },
  ]);
  await createReplayKey(database).getReplayKey();
  const usage = createTopicUsageStore(database);
  await usage.add([{ externalId: "a", matches: 1 }], new Date());
  const renamed = [{ from: { ...topic, externalId: "a" }, to: topic }];
  await store.change({ ...noWrites, enabled: [], renamed });
  await usage.noteCounting({ since: new Date(0), until: new Date() });
  const backfills = createBackfillStore(database);
  const backfill = newId();
  await backfills.insert(createStoredBackfill("a", "inventory", backfill));
  await backfills.list({ namespaces: "all", limit: 1 });
  await backfills.countRunning();
  await backfills.findLastCancel("a");
  await backfills.lease("somebody", new Date(), new Date());
  await backfills.keep(backfill, "somebody", new Date(), null);
  await backfills.end(backfill, { state: "cancelled", reason: null, endedOn: new Date() });
  const deadLetters = createDeadLetterReader(database, own.deadLetterTopic);
  await deadLetters.removeBefore({ partition: 0, offset: 0, epoch: 1 });
  const [letter] = await deadLetters.find(ids);
  assert.ok(letter !== undefined);
  const copy = { ...letter, position: { ...letter.position, partition: 9 } };
  const key = { group: unique("group"), topic: own.deadLetterTopic, partition: 9 };
  const step = { key, from: undefined, to: { offset: 1, epoch: 1 } };
  const batch = await createDeadLetterStore(database, log).begin(step);
  await batch.write({ key, summaries: [copy], epoch: 1 });
  await batch.end();
  await database.close();

  const [script] = parseBlocks(
    "docs/deployment.md",
    readFileSync(join(root, "docs/deployment.md"), "utf8"),
  ).filter(({ text }) => text.includes("createRole"));
  const [role] = readRoles(script?.text ?? "");
  assert.ok(role !== undefined, "docs/deployment.md has no role");
  assert.equal(role.roles.length, 0, "the role inherits others");
  assert.deepEqual(toLines(toPrivileges(role)), toLines(privileges));
});
