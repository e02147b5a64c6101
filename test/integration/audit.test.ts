import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { call } from "../support/http.ts";
import { unique } from "../support/names.ts";
import { until } from "../support/poll.ts";
import { stage } from "../support/scene.ts";
import { ownLogFile } from "../support/secrets.ts";
import {
  bootstrap,
  ownNames,
  runCli,
  startTopicsync,
  startTopicsyncHere,
  type TestService,
} from "../support/service.ts";

type Line = Readonly<Record<string, unknown>>;

const { producer, scene } = stage();
const { settings, topic, start } = scene({
  HTTP_TRUSTED_PROXIES: "127.0.0.1",
  PUSH_APPLICATIONS: "App",
  PUSH_PLATFORMS: "ios",
});
const folder = mkdtempSync(join(tmpdir(), "topicsync-audit-"));
after(() => {
  rmSync(folder, { recursive: true });
});
let service: TestService;

before(async () => {
  service = await start();
});

const findAudited = (action: string, lines: readonly Line[] = service.log): Line[] =>
  lines.filter(({ audit, msg }) => audit === true && msg === action);
const readLines = (file: string): Line[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
/** Removes the time and generated request ids. */
const removeTime = ({ time, ...rest }: Line): Line => {
  assert.ok(Math.abs(Number(time) - Date.now()) < 600_000);
  return rest;
};
const removeRequestId = (one: Line = {}): Line => {
  const { requestId, ...rest } = removeTime(one);
  assert.match(String(requestId), /^[0-9a-f-]{36}$/);
  return rest;
};
const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
const line = { level: 30, audit: true };
const overHttp = { ...line, via: "http", by: bootstrap.user, from: "127.0.0.1" };

describe("the audit log", () => {
  it("records what the settings created at start", () => {
    const from = { ...line, via: "settings", by: "settings", from: hostname() };
    const roles = ["svc_api_notif_mgmt.event_mgmt_integration", "push_admin", "topicsync_admin"];
    assert.deepEqual(service.log.filter(({ via }) => via === "settings").map(removeTime), [
      { ...from, user: bootstrap.user, roles, msg: "user.added" },
      { ...from, application: "App", msg: "application.added" },
      { ...from, platform: "ios", msg: "platform.added" },
    ]);
  });

  it("records the first failed login of a user from an address, and counts the others", async () => {
    const [user, password, from] = [unique("user"), "wrong password", "203.0.113.77"];
    const headers = { "X-Forwarded-For": from };
    const api = `${service.url}/api/topicsync/v1`;
    const basic = { method: "GET", as: { user, password }, headers };
    assert.equal((await call(`${api}/sync`, basic)).status, 401);
    const body = { user, password };
    assert.equal((await call(`${api}/session`, { as: undefined, headers, body })).status, 401);
    const expected = { ...line, via: "http", by: "", from, user, credentials: "password", count: 1 };
    assert.deepEqual(findAudited("login.failed").map(removeRequestId), [
      { ...expected, msg: "login.failed" },
    ]);
  });

  it("records a registration with a digest of the token, which the service's log does not", async () => {
    const [token, next] = [unique("token"), unique("token")] as const;
    const url = `${service.url}/api/now/push/App/installation`;
    const requestId = unique("request");
    const body = { platform: "ios", token };
    await call(url, { body, headers: { "X-Request-Id": requestId } });
    await call(url, { body: { ...body, token: next, previousToken: token } });
    const lines = await until("both are recorded", () => {
      const found = findAudited("installation.registered");
      return found.length === 2 && found;
    });
    const event = { ...overHttp, application: "App", platform: "ios", msg: "installation.registered" };
    assert.deepEqual(removeTime(lines[0] ?? {}), { ...event, requestId, tokenDigest: hash(token) });
    assert.deepEqual(removeRequestId(lines[1]), {
      ...event,
      tokenDigest: hash(next),
      replacesDigest: hash(token),
    });
    assert.doesNotMatch(JSON.stringify(service.log), new RegExp(`${token}|${next}`));
    assert.deepEqual(
      service.log.filter((one) => one["requestId"] === requestId).map(({ msg }) => msg),
      ["installation.registered"],
    );
  });

  it("records removals, but not rejected requests, which are in the service's log", async () => {
    const url = `${service.url}/api/now/push/App/removeInstallation`;
    await call(url, { body: { platform: "ios" } });
    await call(url, { body: { platform: "ios", token: "some token" } });
    await call(url, { body: { platform: "ios", scope: "all" } });
    await call(url, { body: { platform: "none" } });
    await until("the rejection is logged", () =>
      service.log.find(
        ({ path, status }) => path === "/api/now/push/App/removeInstallation" && status === 400,
      ),
    );
    const removal = { ...overHttp, application: "App", platform: "ios", msg: "installations.removed" };
    assert.deepEqual(findAudited("installations.removed").map(removeRequestId), [
      { ...removal, of: "caller" },
      { ...removal, of: "caller", tokenDigest: hash("some token") },
      { ...removal, of: "everybody" },
    ]);
  });

  it("records topics created and described over HTTP", async () => {
    const externalId = unique("topic");
    const url = `${service.url}/api/svc_api_notif_mgmt/topic`;
    const { json } = await call(url, { body: { name: externalId, externalId } });
    const [found] = await until("it is recorded", () => {
      const lines = findAudited("topic.created");
      return lines.length > 0 && lines;
    });
    assert.deepEqual(removeRequestId(found), { ...overHttp, externalId, id: json.id, msg: "topic.created" });
    const details = `${service.url}/api/topicsync/v1/topics/${externalId}/details`;
    const options = { method: "PUT", body: { owner: "ann" }, headers: { "If-Match": '"0"' } };
    for (let i = 0; i < 2; i += 1) await call(details, options);
    const described = await until("it is recorded", () => findAudited("topic.described")[0]);
    const event = { ...overHttp, externalId, id: json.id, msg: "topic.described" };
    assert.deepEqual(removeRequestId(described), event);
    assert.equal(findAudited("topic.described").length, 1);
  });

  it("records topics changed over HTTP, and nothing for a change that is stored already", async () => {
    const externalId = unique("topic");
    const url = `${service.url}/api/topicsync/v1/topics/${externalId}`;
    const { json } = await call(`${service.url}/api/svc_api_notif_mgmt/topic`, {
      body: { name: externalId, externalId },
    });
    const body = { name: `${externalId} 2`, externalId };
    for (let i = 0; i < 2; i += 1) await call(url, { method: "PUT", body, headers: { "If-Match": '"1"' } });
    await call(`${url}/restore`, { body: { version: 1 } });
    const changes = [{ kind: "disable", externalId, version: 3 }];
    await call(`${service.url}/api/topicsync/v1/topic-changes`, { body: { changes } });
    const lines = await until("all are recorded", () => {
      const found = service.log.filter((one) => one["externalId"] === externalId);
      return found.some(({ msg }) => msg === "topic.disabled") && found;
    });
    const event = { ...overHttp, externalId, id: json.id };
    assert.deepEqual(
      lines.map((one) => removeRequestId(one)),
      ["topic.created", "topic.changed", "topic.changed", "topic.disabled"].map((msg) => ({ ...event, msg })),
    );
  });

  it("records changes by announcements with their position, and nothing for the others", async () => {
    const externalId = unique("topic");
    const announce = async (value: object | null): Promise<string> => {
      const [sent] = await producer.send({
        topic,
        messages: [{ key: externalId, value: value === null ? null : JSON.stringify(value) }],
      });
      return `${topic}-0-${sent?.baseOffset}`;
    };
    const define = (name: string) => announce({ externalId, name });
    const created = await define("one");
    await until("it is created", () => findAudited("topic.created").find(({ from }) => from === created));
    await define("one");
    const changed = await define("two");
    await until("it is changed", () => findAudited("topic.changed").find(({ from }) => from === changed));
    const retired = await announce(null);
    await until("it is retired", () => findAudited("topic.retired")[0]);
    const lines = service.log.filter(({ via }) => via === "channel").map(removeTime);
    const id = lines[0]?.["id"];
    const event = { ...line, via: "channel", by: "announcements", externalId, id };
    assert.match(String(id), /^[0-9a-f]{32}$/);
    assert.deepEqual(lines, [
      { ...event, from: created, msg: "topic.created" },
      { ...event, from: changed, msg: "topic.changed" },
      { ...event, from: retired, msg: "topic.retired" },
    ]);
  });
});

describe("the audit file", () => {
  it("records what commands and services changed, and no failures", async () => {
    const file = ownLogFile("audit");
    const withFile = { ...settings, ...ownNames(), AUDIT_LOG: file };
    const name = unique("user");
    const run = async (...args: string[]) =>
      (await runCli(["users", ...args], withFile, "known to nobody")).code;
    assert.equal(await run("add", name, "--role", "push_admin"), 0);
    assert.equal(await run("add", name), 3);
    assert.equal(await run("passwd", name), 0);
    assert.equal(await run("disable", name), 0);
    assert.equal(await run("enable", name), 0);
    assert.equal(await run("disable", unique("nobody")), 1);
    assert.equal(await run("list"), 0);
    const command = { ...line, via: "cli", by: userInfo().username, from: hostname(), user: name };
    assert.deepEqual(readLines(file).map(removeTime), [
      { ...command, roles: ["push_admin"], msg: "user.added" },
      { ...command, msg: "user.password-changed" },
      { ...command, msg: "user.disabled" },
      { ...command, msg: "user.enabled" },
    ]);

    const other = await startTopicsync(withFile);
    await other.ready();
    const url = `${other.url}/api/now/push/App/installation`;
    assert.equal((await call(url, { body: { platform: "ios", token: unique("token") } })).status, 200);
    await until(
      "the line is written",
      () => findAudited("installation.registered", readLines(file)).length === 1,
    );

    const moved = ownLogFile("audit-1");
    renameSync(file, moved);
    other.process.kill("SIGHUP");
    await until("there is a new file", () => existsSync(file));
    assert.equal((await call(url, { body: { platform: "ios", token: unique("token") } })).status, 200);
    await other.stop();
    assert.equal(findAudited("installation.registered", readLines(file)).length, 1);
    assert.equal(findAudited("installation.registered", readLines(moved)).length, 1);
    assert.deepEqual(
      other.log.filter(({ audit }) => audit === true),
      [],
    );
  });

  it("must be writable", async () => {
    const { code, output } = await runCli(["start"], { ...settings, AUDIT_LOG: join(folder, "no/such") });
    assert.equal(code, 78);
    assert.match(output, /AUDIT_LOG cannot be written/);
  });

  it("can be off; then the service's log has the requests", async () => {
    const silent = await startTopicsyncHere({ ...settings, ...ownNames(), AUDIT_LOG: "off" });
    await silent.ready();
    await call(`${silent.url}/api/now/push/App/removeInstallation`, { body: { platform: "ios" } });
    await until("the request is logged", () =>
      silent.log.find(
        ({ path, status }) => path === "/api/now/push/App/removeInstallation" && status === 200,
      ),
    );
    assert.deepEqual(
      silent.log.filter(({ audit }) => audit === true),
      [],
    );
  });
});
