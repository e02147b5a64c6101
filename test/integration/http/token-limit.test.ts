/** A limit on the active tokens of a user, and the expiry of those that are not seen. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { AuditEntry } from "@topicsync/lib/audit/audit";
import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createLogger } from "@topicsync/lib/logger";
import { deleteInactiveTokens, expireTokens } from "../../../src/service/token-expiry.ts";
import { createServices } from "../../../src/service/services.ts";
import { readConfig } from "../../../src/config/config.ts";
import { createDatabase } from "../../../src/storage/database/database.ts";
import { call } from "../../support/http.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { stage, useService } from "../../support/scene.ts";
import { bootstrap } from "../../support/service.ts";

const service = useService({
  PUSH_APPLICATIONS: "agent,other",
  PUSH_PLATFORMS: "ios,android",
  PUSH_MAX_TOKENS_PER_USER: "3",
});
const records = service.db.collection<InstallationRecord>("sys_push_notif_app_install");
const { user } = bootstrap;

async function register(token: string, platform = "ios", application = "agent"): Promise<void> {
  const url = `${service.url}/api/now/push/${application}/installation`;
  assert.equal((await call(url, { body: { platform, token } })).status, 200);
}

const findActive = async (): Promise<string[]> =>
  (await records.find({ user, active: true }).toArray()).map(({ token }) => token).toSorted();

describe("a user with as many tokens as the limit allows", () => {
  it("loses the one that was not seen for the longest time, on any platform of the application", async () => {
    await register("a", "android");
    await register("b");
    await register("other", "ios", "other");
    await register("c");
    assert.deepEqual(await findActive(), ["a", "b", "c", "other"]);
    await register("a", "android");
    assert.deepEqual(await findActive(), ["a", "b", "c", "other"], "registered again");
    await register("d");
    assert.deepEqual(await findActive(), ["a", "c", "d", "other"]);
    const [gone] = await records.find({ token: "b" }).toArray();
    assert.equal(gone?.deactivated_reason, "more than 3 active tokens of the user");
    const line = await until("it is recorded", () =>
      service.log.find(({ msg }) => msg === "installations.limited"),
    );
    assert.deepEqual([line["user"], line["application"], line["count"]], [user, "agent", 1]);
  });

  it("keeps the limit when many devices register at the same time", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, i) => register(`many-${i}`)));
    await register("last");
    const active = await findActive();
    assert.equal(active.length, 4);
    assert.ok(active.includes("last"));
  });

  it("comes down to the limit if there were more before it was set", async () => {
    const old = Array.from({ length: 300 }, (_, i) => installation(`old-${i}`, { user }));
    await records.insertMany(old);
    for (const token of ["x", "y"]) await register(token);
    assert.equal((await findActive()).filter((token) => token !== "other").length, 3);
  });
});

const day = 86_400_000;

describe("tokens that are not seen for the days of the setting", () => {
  const own = stage().scene();

  it("are deactivated by one of several instances, once a day", async (t) => {
    const log = await createLogger("silent");
    const config = readConfig({ ...own.settings, PUSH_TOKEN_MAX_UNSEEN_DAYS: "270" });
    const audited: AuditEntry[] = [];
    const audit = {
      on: true,
      record: (event: AuditEntry["event"], origin: AuditEntry["origin"]) =>
        void audited.push({ event, origin }),
      recordAll: () => undefined,
    };
    const { signal: abort } = new AbortController();
    const create = async () => {
      const database = createDatabase(own.uri, log);
      t.after(() => database.close());
      await database.connect(abort);
      return createServices({ config, database, lifecycle: createLifecycle(log), log });
    };
    const instances = await Promise.all([create(), create(), create()]);
    const installed = own.db.collection<InstallationRecord>("sys_push_notif_app_install");
    const seen = (days: number) => ({ last_seen_on: new Date(Date.now() - days * day) });
    await installed.insertMany([
      installation(unique("old"), seen(271)),
      installation(unique("older"), seen(500)),
      installation(unique("new"), seen(269)),
      installation(unique("gone"), { ...seen(300), active: false, deactivated_reason: "Unregistered" }),
    ]);
    const runAll = () =>
      Promise.all(instances.map((services) => expireTokens(270, { services, audit, abort, log })));
    await runAll();
    const inactive = await installed.find({ deactivated_reason: "not seen for 270 days" }).toArray();
    assert.equal(inactive.length, 2);
    assert.equal(await installed.countDocuments({ active: true }), 1);
    assert.deepEqual(
      audited.map(({ event }) => event),
      [{ action: "installations.swept", count: 2 }],
    );
    await installed.insertOne(installation(unique("next"), seen(280)));
    await runAll();
    assert.equal(await installed.countDocuments({ active: true }), 2, "not due again");
    const jobs = own.db.collection<{ _id: string; next_on: Date }>("topicsync_jobs");
    await jobs.updateOne({ _id: "expire-tokens" }, { $set: { next_on: new Date() } });
    await runAll();
    assert.equal(await installed.countDocuments({ active: true }), 1);
  });

  it("are deleted so many days after they were deactivated, if that is set", async (t) => {
    const log = await createLogger("silent");
    const config = readConfig({ ...own.settings, PUSH_DELETE_INACTIVE_DAYS: "90" });
    const database = createDatabase(own.uri, log);
    t.after(() => database.close());
    await database.connect(new AbortController().signal);
    const services = createServices({ config, database, lifecycle: createLifecycle(log), log });
    const installed = own.db.collection<InstallationRecord>("sys_push_notif_app_install");
    await installed.deleteMany({});
    const ago = (days: number) => new Date(Date.now() - days * day);
    const kept = [
      installation("long active", { last_seen_on: ago(500), sys_updated_on: ago(500) }),
      installation("inactive for 89 days", {
        active: false,
        deactivated_on: ago(89),
        sys_updated_on: ago(500),
      }),
      installation("imported", { active: false, sys_updated_on: ago(89) }),
    ];
    const old = installation("inactive for 91 days", { active: false, deactivated_on: ago(91) });
    await installed.insertMany([
      ...kept,
      old,
      installation("imported long ago", { active: false, sys_updated_on: ago(91) }),
      ...Array.from({ length: 300 }, (_, i) => ({ ...old, _id: unique("id"), token: `one of many ${i}` })),
    ]);
    const events: unknown[] = [];
    const audit = {
      on: true,
      record: (event: unknown) => void events.push(event),
      recordAll: () => undefined,
    };
    await deleteInactiveTokens(90, { services, audit, abort: new AbortController().signal, log });
    const left = (await installed.find({}).toArray()).map(({ token }) => token);
    assert.deepEqual(left.toSorted(), kept.map(({ token }) => token).toSorted());
    assert.deepEqual(events, [{ action: "installations.deleted", count: 302 }]);
    // Registered again since it was found.
    const again = await services.installationDeactivator.deleteInactive([kept[0]?._id ?? ""], new Date());
    assert.equal(again, 0);
  });

  it("are kept for ever by default, which the service says when it starts", async () => {
    const service = await own.start();
    const line = service.log.find(({ msg }) => msg?.startsWith("inactive push tokens are kept for ever"));
    assert.match(line?.msg ?? "", /PUSH_DELETE_INACTIVE_DAYS/);
    await service.stop();
  });

  it("are swept again soon after a sweep was interrupted", async (t) => {
    const log = await createLogger("silent");
    const config = readConfig(own.settings);
    const database = createDatabase(own.uri, log);
    t.after(() => database.close());
    await database.connect(new AbortController().signal);
    const services = createServices({ config, database, lifecycle: createLifecycle(log), log });
    const jobs = own.db.collection<{ _id: string; next_on: Date }>("topicsync_jobs");
    await jobs.updateOne({ _id: "expire-tokens" }, { $set: { next_on: new Date() } }, { upsert: true });
    const audit = { on: false, record: () => undefined, recordAll: () => undefined };
    await expireTokens(270, { services, audit, abort: AbortSignal.abort(), log });
    const next = (await jobs.findOne({ _id: "expire-tokens" }))?.next_on.getTime() ?? 0;
    assert.ok(next < Date.now() + day / 2, "due again on the same day");
  });
});
