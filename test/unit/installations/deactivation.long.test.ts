import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import { UnavailableError } from "@topicsync/lib/errors";
import { GroupCommit } from "../../../src/installations/group-commit.ts";
import { shareDeactivations } from "../../../src/installations/deactivation.ts";
import type { DeactivateAllRequest } from "../../../src/installations/stores.ts";
import { createInstallationDeactivator } from "../../../src/storage/installations/deactivation.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { connectProxiedDatabase } from "../../support/database.ts";
import { installation, type InstallationRecord } from "../../support/installations.ts";
import { mongoErrors } from "../../support/mongo-faults.ts";
import { until } from "../../support/poll.ts";

/** The number of ids in each update; 0 for the one that changes nothing. */
const updates: number[] = [];
let updateCommands = 0;
let lastIds: readonly string[] = [];
const { db, database, proxy } = await connectProxiedDatabase({
  onCommand({ update, updates: statements }) {
    const [{ q }] = (statements ?? [{}]) as [{ q?: { _id?: "" | { $in?: string[] } } }];
    const ids = q?._id === "" ? [] : q?._id?.$in;
    if (update !== undefined) updateCommands += 1;
    if (update === undefined || ids === undefined) return;
    lastIds = ids;
    updates.push(ids.length);
  },
});
const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
const deactivator = createInstallationDeactivator(database);
const { deactivateAll } = deactivator;
const { submit } = new GroupCommit(createInstallationStore(database));

const scope = { application: "agent", platform: "ios" } as const;
const request: DeactivateAllRequest = { ...scope, reason: "removed by the administrator root" };
const register = (token: string): Promise<void> =>
  submit({ kind: "register", key: { ...scope, token }, user: "ann", previousToken: undefined });
const isActive = async (token: string) => (await records.findOne({ token }))?.active;
const passes = { command: "update", executed: true, answer: {} } as const;

const count = 260;
const token = (i: number): string => `token ${i}`;

beforeEach(async () => {
  proxy.clear();
  updates.length = 0;
  await records.deleteMany({});
  await records.insertMany(
    Array.from({ length: count }, (_, i) => installation(token(i), { user: `user ${i % 7}` })),
  );
});

describe("deactivating all users' tokens", () => {
  it("deactivates every token of the application on the platform, in batches, and no other", async () => {
    const dead = { active: false, deactivated_reason: "Unregistered" };
    await records.insertMany([
      installation("other platform", { platform: "android" }),
      installation("other application", { application: "other" }),
      installation("dead already", dead),
    ]);
    await deactivateAll(request);
    assert.equal(await records.countDocuments({ active: false, deactivated_reason: request.reason }), count);
    assert.equal(await isActive("other platform"), true);
    assert.equal(await isActive("other application"), true);
    assert.equal((await records.findOne({ token: "dead already" }))?.deactivated_reason, "Unregistered");
    assert.deepEqual(updates, [250, 10, 0]);
  });

  it("deactivates records without times, written by another program", async () => {
    const tokens = ["without", "with null", "with a text"];
    const foreign = [{}, { sys_updated_on: null }, { sys_updated_on: "2026-01-01 00:00:00" }];
    await db
      .collection("sys_push_notif_app_install")
      .insertMany(
        foreign.map((times, i) => ({ ...scope, token: tokens[i], user: "eve", active: true, ...times })),
      );
    await deactivateAll(request);
    for (const one of tokens) assert.equal(await isActive(one), false, one);
  });

  it("sends an update without records if nothing is registered, which waits for a majority", async () => {
    await deactivateAll({ ...request, application: "unused" });
    assert.deepEqual(updates, [0]);
  });

  it("does not delay registrations, and leaves tokens active that are registered during it", async () => {
    let isOver = false;
    // The second batch reaches the store late.
    proxy.fail({ ...passes, times: 1 });
    proxy.fail({ ...passes, delayMs: 5_000, times: 1 });
    const removing = deactivateAll(request).then(() => (isOver = true));
    const again = await until("the first batch is done", async () => {
      const gone = await records.findOne({ active: false });
      return updates.length === 2 && gone !== null ? gone.token : undefined;
    });
    const underway = (await records.findOne({ _id: lastIds[0] ?? "" }))?.token ?? "";
    await Promise.all([register(again), register(underway), register("new")]);
    assert.equal(isOver, false);
    await removing;
    for (const kept of [again, underway, "new"]) assert.equal(await isActive(kept), true, kept);
    assert.equal(await records.countDocuments({ active: true }), 3);
  });

  it("sends no batch twice after a timeout, and can be repeated", async () => {
    proxy.fail({ ...passes, times: 1 });
    proxy.fail({ ...passes, delayMs: 20_000, times: 1 });
    await assert.rejects(deactivateAll(request), UnavailableError);
    assert.deepEqual(updates, [250, 10]);
    await deactivateAll(request);
    assert.equal(await records.countDocuments({ active: true }), 0);
  });

  it("keeps finished batches when interrupted, and does the rest when repeated", async () => {
    proxy.fail({ ...passes, times: 1 });
    proxy.fail({ ...passes, executed: false, answer: mongoErrors.hostUnreachable, times: 1 });
    await assert.rejects(deactivateAll(request), UnavailableError);
    const done = await records.find({ active: false }).toArray();
    assert.equal(done.length, 250);
    await deactivateAll(request);
    assert.equal(await records.countDocuments({ active: true }), 0);
    for (const { _id, deactivated_on } of done)
      assert.deepEqual((await records.findOne({ _id }))?.deactivated_on, deactivated_on);
  });
});

describe("shared deactivations", () => {
  it("run one at a time; callers during a run share the next one", async () => {
    const runs: PromiseWithResolvers<undefined>[] = [];
    const shared = shareDeactivations(() => {
      const run = Promise.withResolvers<undefined>();
      runs.push(run);
      return run.promise;
    });
    const first = shared(request);
    const others = [shared(request), shared(request)];
    const elsewhere = shared({ ...request, platform: "android" });
    assert.equal(runs.length, 2);
    runs[1]?.resolve(undefined);
    await elsewhere;
    runs[0]?.reject(new UnavailableError("away"));
    await assert.rejects(first, UnavailableError);
    await until("the next one has started", () => runs.length === 3);
    const last = shared(request);
    runs[2]?.resolve(undefined);
    await Promise.all(others);
    await until("the one after it has started", () => runs.length === 4);
    runs[3]?.resolve(undefined);
    await last;
    assert.equal(runs.length, 4);
  });
});

describe("deactivating unseen tokens", () => {
  const unseenSince = new Date("2026-06-01T00:00:00Z");
  const reason = "not seen for long";
  for (const [name, deactivate] of [
    ["of some ids", (ids: string[]) => deactivator.deactivateByIds(ids, reason, unseenSince)],
    ["in one update", (ids: string[]) => deactivator.deactivateUnseen(ids, { unseenSince, reason })],
  ] as const)
    it(`${name} leaves those alone that were registered or deactivated since they were found`, async () => {
      const old = { last_seen_on: new Date("2026-01-01T00:00:00Z") };
      await records.deleteMany({});
      const found = [
        installation("forgotten", old),
        installation("seen since", { last_seen_on: unseenSince }),
        installation("dead since", { ...old, active: false, deactivated_reason: "Unregistered" }),
      ];
      await records.insertMany(found);
      await deactivate(found.map(({ _id }) => _id));
      const left = await records.find().toArray();
      assert.deepEqual(
        new Map(left.map(({ token, active, deactivated_reason }) => [token, [active, deactivated_reason]])),
        new Map([
          ["forgotten", [false, reason]],
          ["seen since", [true, undefined]],
          ["dead since", [false, "Unregistered"]],
        ]),
      );
    });

  it("of some ids spares one that registers between its look-up and its update", async () => {
    await records.deleteMany({});
    const one = installation("late", { last_seen_on: new Date("2026-01-01T00:00:00Z") });
    await records.insertOne(one);
    proxy.fail({ ...passes, delayMs: 2_000, times: 1 });
    const before = updateCommands;
    const deactivating = deactivator.deactivateByIds([one._id], reason, unseenSince);
    await until("it was looked up", () => updateCommands > before);
    // As a program that does not change the time of the last change.
    await records.updateOne({ _id: one._id }, { $set: { last_seen_on: new Date() } });
    assert.deepEqual(await deactivating, []);
    assert.equal(await isActive("late"), true);
  });
});
