import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import type { Document } from "mongodb";

import { socketTimeoutMs } from "../../../src/storage/database/client-options.ts";
import { createCatalogStore } from "../../../src/storage/catalog.ts";
import type { Database } from "../../../src/storage/database/database.ts";
import { unfinished } from "../../../src/installations/stores.ts";
import { createInstallationDeactivator } from "../../../src/storage/installations/deactivation.ts";
import { createInstallationImportStore } from "../../../src/storage/installations/import.ts";
import { fromInstallationRecord } from "../../../src/storage/installations/records.ts";
import { createReplayStore } from "../../../src/storage/replays.ts";
import { createSessionStore } from "../../../src/storage/sessions.ts";
import { createUserStore } from "../../../src/storage/users.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { createTopicStore } from "../../../src/storage/topics/topics.ts";
import { createTopicService } from "../../../src/topics/service.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { mongoErrors } from "../../support/mongo-faults.ts";
import { unique } from "../../support/names.ts";

const proxied: Document[] = [];
const { db, database, proxy, log } = await connectProxiedDatabase({
  onCommand: (command) => void proxied.push(command),
});

/** Every command on installations. */
const sent: Document[] = [];
const watched: Database = {
  ...database,
  command(command) {
    sent.push(structuredClone(command));
    return database.command(command);
  },
};
const installations = createInstallationStore(watched);
const records = db.collection<InstallationRecord>("sys_push_notif_app_install");

const createKey = () => ({ token: unique("token"), application: "agent", platform: "ios" });
/** Sets the clock of this process back while it does something. */
async function withClockBehind(work: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ["Date"], now: Date.now() - 5_000 });
  await work();
  mock.timers.reset();
}
const register = async (key: ReturnType<typeof createKey>, user = "ann") => {
  assert.deepEqual(await installations.write([{ kind: "register", key, user }]), []);
};
const remove = async ({ application, platform }: ReturnType<typeof createKey>, user = "ann") => {
  const write = { kind: "remove", application, platform, user, reason: "removed" } as const;
  assert.deepEqual(await installations.write([write]), []);
};
const find = ({ token }: ReturnType<typeof createKey>) => records.find({ token }).toArray();

describe("a registration that the store repeats late", () => {
  it("does not make a token active again that was removed in between", async () => {
    const key = createKey();
    sent.length = 0;
    await register(key);
    await remove(key);
    const [late] = sent;
    assert.ok(late !== undefined);
    await database.command(late);
    const [record, ...others] = await find(key);
    assert.equal(record?.active, false);
    assert.deepEqual(others, []);
  });

  it("does not make a token active again that was removed by an instance whose clock is behind", async () => {
    const key = createKey();
    sent.length = 0;
    await register(key);
    await withClockBehind(() => remove(key));
    const [late] = sent;
    assert.ok(late !== undefined);
    await database.command(late);
    assert.deepEqual(
      (await find(key)).map(({ active }) => active),
      [false],
    );
  });

  it("does not take a token back that has moved to another user", async () => {
    const key = createKey();
    await register(key, "bob");
    sent.length = 0;
    await register(key, "ann");
    await register(key, "bob");
    for (const late of sent.splice(0)) await database.command(late);
    assert.deepEqual(
      (await find(key)).map(({ user, active }) => ({ user, active })),
      [{ user: "bob", active: true }],
    );
  });
});

describe("a removal that the store repeats late", () => {
  for (const clock of ["right", "behind"])
    it(`spares tokens that were registered in between by an instance whose clock is ${clock}`, async () => {
      const [key, other] = [createKey(), createKey()];
      await register(key);
      sent.length = 0;
      await remove(key);
      const late = sent.splice(0);
      const registerBoth = async (): Promise<void> => {
        await register(key);
        await register(other);
      };
      await (clock === "behind" ? withClockBehind(registerBoth) : registerBoth());
      for (const one of late) await database.command(one);
      assert.equal((await find(key))[0]?.active, true);
      assert.equal((await find(other))[0]?.active, true);
    });
});

describe("an administrator's removal by ids that the store executes late", () => {
  it("spares a token that was registered again", async () => {
    const key = createKey();
    await register(key);
    const [record] = await find(key);
    proxied.length = 0;
    const deactivator = createInstallationDeactivator(database);
    assert.equal((await deactivator.deactivateByIds([record?._id ?? ""], "lost")).length, 1);
    await register(key);
    const { update, updates } = proxied.find((command) => "update" in command) ?? {};
    await database.command({ update, updates });
    assert.equal((await find(key))[0]?.active, true);
  });
});

describe("a removal", () => {
  it("deactivates 250 tokens each time it is written, until it is finished", async () => {
    const user = unique("user");
    const tokens = Array.from({ length: 600 }, () => installation(unique("token"), { user }));
    await records.insertMany(tokens);
    sent.length = 0;
    const { application = "", platform = "" } = tokens[0] ?? {};
    const write = { kind: "remove", application, platform, user, reason: "removed" } as const;
    for (const left of [350, 100]) {
      assert.deepEqual(await installations.write([write]), [unfinished]);
      assert.equal(await records.countDocuments({ user, active: true }), left);
    }
    assert.deepEqual(await installations.write([write]), []);
    assert.equal(sent.length, 3);
    assert.equal(await records.countDocuments({ user, active: true }), 0);
    assert.equal(await records.countDocuments({ user, deactivated_reason: "removed" }), 600);
  });
});

describe("equal removals of one batch", () => {
  it("deactivate each token once, and have the same result", async () => {
    const user = unique("user");
    const tokens = Array.from({ length: 300 }, () => installation(unique("token"), { user }));
    await records.insertMany(tokens);
    const { application = "", platform = "" } = tokens[0] ?? {};
    const write = { kind: "remove", application, platform, user, reason: "removed" } as const;
    sent.length = 0;
    assert.deepEqual(await installations.write([write, write, write]), [unfinished, unfinished, unfinished]);
    assert.deepEqual(
      sent.map((command) => (command["updates"] as unknown[]).length),
      [250],
    );
    assert.deepEqual(await installations.write([write, write]), []);
    assert.equal(await records.countDocuments({ user, active: true }), 0);
  });
});

describe("a registration", () => {
  it("succeeds after a change by an instance whose clock is ahead", async () => {
    const key = createKey();
    const ahead = new Date(Date.now() + 60_000);
    await records.insertOne(installation(key.token, { active: false, sys_updated_on: ahead }));
    const before = new Date();
    await register(key);
    const [record] = await find(key);
    assert.equal(record?.active, true);
    assert.deepEqual(record.sys_updated_on, new Date(ahead.getTime() + 1), "it always increases");
    assert.ok(record.last_seen_on >= before && record.last_seen_on <= new Date());
  });
});

describe("a record that another program stored without times", () => {
  for (const times of [{}, { sys_updated_on: null }, { sys_updated_on: "2026-01-01 00:00:00" }])
    for (const owner of ["ann", "bob"])
      it(`can be registered by its user and by another: ${owner}, ${JSON.stringify(times)}`, async () => {
        const key = createKey();
        await db.collection("sys_push_notif_app_install").insertOne({ ...key, user: owner, ...times });
        await register(key);
        const [record] = await find(key);
        assert.equal(record?.user, "ann");
        assert.equal(record.active, true);
        assert.ok(record.sys_updated_on instanceof Date);
      });
});

describe("a write that may conflict with an open transaction", () => {
  for (const [what, answer] of Object.entries({
    "a timeout": mongoErrors.tooSlow,
    "a wait for a majority": mongoErrors.writeConcernTimeout,
    "a sign that the store is overloaded": mongoErrors.overloaded,
  }))
    it(`is not sent again after ${what}`, async () => {
      proxy.fail({ command: "update", executed: false, answer: { ok: 1, ...answer }, times: 1 });
      sent.length = 0;
      const write = { kind: "register", key: createKey(), user: "ann" } as const;
      await assert.rejects(installations.write([write]), { name: "UnavailableError" });
      assert.equal(sent.length, 1);
    });

  it("is sent again after an error of a failover, which has no label", async () => {
    const answer = mongoErrors.hostUnreachable;
    proxy.fail({ command: "update", executed: false, answer, times: 1 });
    sent.length = 0;
    await register(createKey());
    assert.equal(sent.length, 2);
  });

  it("times out on the server before it does in the driver", async () => {
    proxied.length = 0;
    await register(createKey());
    await remove(createKey());
    const topics = createTopicStore(database, log, { historyRetentionDays: undefined });
    await createTopicService(topics).create({ externalId: unique("topic"), name: "x" }, "ann");
    await topics.confirmReads(undefined);
    await topics.claim({ group: unique("group"), topic: "announcements", partition: 0 });
    await writeUsers();
    await writeCatalog();
    await writeReplays();
    await writeImport();
    const writes = proxied.filter((command) =>
      ["insert", "update", "delete", "findAndModify"].some((name) => name in command),
    );
    assert.equal(writes.length, 27);
    for (const { maxTimeMS, ...command } of writes)
      assert.ok(maxTimeMS < socketTimeoutMs, JSON.stringify(command));
  });
});

async function writeUsers(): Promise<void> {
  const users = createUserStore(database);
  const user = unique("user");
  await users.insert({ name: user, passwordHash: "", roles: [], active: true });
  await users.change(user, { active: false });
  await users.changeRoles(user, { add: ["push_admin"], remove: ["push_admin"] });
  const sessions = createSessionStore(database);
  const [createdOn, expiresOn] = [new Date(), new Date()];
  await sessions.insert({ digest: user, user, basis: { passwordDigest: "" }, createdOn, expiresOn });
  await sessions.extend(user, expiresOn);
  await sessions.remove(user);
  await sessions.removeAll(user);
}

async function writeCatalog(): Promise<void> {
  const { platforms } = createCatalogStore(database);
  const name = unique("platform");
  await platforms.insert({ name, active: true });
  await platforms.change(name, { active: false });
}

async function writeReplays(): Promise<void> {
  const replays = createReplayStore(database);
  const sentTo = { topic: "announcements" };
  const replay = { deadLetterId: unique("letter"), attempt: 1, startedAt: new Date(), sentTo } as const;
  await replays.begin([{ ...replay, state: "sending" }]);
  await replays.markSent([{ ...replay, state: "sent" }]);
  await replays.remove([{ ...replay, state: "sent" }]);
}

async function writeImport(): Promise<void> {
  const store = createInstallationImportStore(database);
  const imported = fromInstallationRecord(installation(unique("token")));
  await store.add([imported]);
  await store.replace([{ id: imported.id, by: { ...imported, updatedOn: new Date() } }]);
  const deactivator = createInstallationDeactivator(database);
  await deactivator.deactivateUnseen([imported.id], { unseenSince: new Date(), reason: "old" });
  await register({ token: imported.token, application: "agent", platform: "ios" });
  await deactivator.deactivateByIds([imported.id], "lost");
  await register({ token: imported.token, application: "agent", platform: "ios" });
  await deactivator.deactivateAll({ application: "agent", platform: "ios", reason: "lost" });
}
