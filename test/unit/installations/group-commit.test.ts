import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { OverloadedError, UnavailableError } from "@topicsync/lib/errors";
import { GroupCommit } from "../../../src/installations/group-commit.ts";
import type { InstallationWrite } from "../../../src/installations/stores.ts";
import type { InstallationRecord } from "../../../src/storage/installations/records.ts";
import { createInstallationStore } from "../../../src/storage/installations/installations.ts";
import { getPort } from "../../support/local.ts";
import { connectDatabase } from "../../support/database.ts";
import { unique } from "../../support/names.ts";
import { until } from "../../support/poll.ts";
import { databaseUri, sharedStack } from "../../support/stack.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { applyInOrder, type Model } from "./model.ts";

const { db, database, connect } = await connectDatabase();
const records = db.collection<InstallationRecord>("sys_push_notif_app_install");
const store = createInstallationStore(database);
/** Another store of the same installations, as a second process would have. */
const connectStore = async (uri?: string) => createInstallationStore(await connect(uri));

const application = "Mobile Agent";
const registration = (token: string, user = "ann", previousToken?: string): InstallationWrite => ({
  kind: "register",
  key: { application, platform: "ios", token },
  user,
  previousToken,
});

const tokens = ["a", "b", "c", "d"];
const users = ["ann", "bob"];
const anyPlatform = fc.constantFrom("ios", "ios", "ios", "android");
const anyRegistration = fc
  .record({
    platform: anyPlatform,
    token: fc.constantFrom(...tokens),
    user: fc.constantFrom(...users),
    previousToken: fc.option(fc.constantFrom(...tokens), { nil: undefined, freq: 5 }),
    attributes: fc.constantFrom(
      undefined,
      undefined,
      {},
      { locale: "de" },
      { appVersion: "2", locale: "en" },
    ),
  })
  .map(({ platform, token, user, previousToken, attributes }): InstallationWrite => ({
    kind: "register",
    key: { application, platform, token },
    user,
    previousToken,
    attributes,
  }));
const anyRemoval = fc
  .record({
    platform: anyPlatform,
    user: fc.constantFrom(...users),
    token: fc.option(fc.constantFrom(...tokens), { nil: undefined }),
  })
  .map(({ platform, user, token }): InstallationWrite => ({
    kind: "remove",
    application,
    platform,
    user,
    token,
    reason: "removed",
  }));
const anyWrite = fc.oneof({ weight: 5, arbitrary: anyRegistration }, { weight: 2, arbitrary: anyRemoval });
/** Requests, and turns of the event loop between them: the requests of one turn share a batch. */
const anyTraffic = fc.array(
  fc.oneof({ weight: 4, arbitrary: anyWrite }, { weight: 1, arbitrary: fc.constant("turn" as const) }),
  {
    maxLength: 40,
  },
);

async function readModel(): Promise<Model> {
  const found = await records.find({}).toArray();
  return new Map(
    found.map((record) => [
      `${record.application}/${record.platform}/${record.token}`,
      {
        user: record.user,
        active: record.active,
        previousOwners: (record.previous_owners ?? []).map(({ user }) => user),
        attributes: record.attributes ?? {},
      },
    ]),
  );
}

/** Resolves in the next turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("the group commit", () => {
  it("has the same result as the requests one by one, in order", async () => {
    const limits = fc.record({
      writesPerBatch: fc.constantFrom(1, 3, 500),
      batchesInFlight: fc.constantFrom(1, 3),
      removedPerBatch: fc.constantFrom(1, 2, 1_000),
    });
    await fc.assert(
      fc.asyncProperty(anyTraffic, limits, async (traffic, { removedPerBatch, ...given }) => {
        await records.deleteMany({});
        const { submit, getStatus } = new GroupCommit(createInstallationStore(database, removedPerBatch), {
          limits: given,
        });
        const answers: Promise<void>[] = [];
        for (const one of traffic) {
          if (one === "turn") await nextTurn();
          else answers.push(submit(one));
        }
        await Promise.all(answers);
        assert.deepEqual(getStatus(), { waiting: 0, writing: 0 });
        const expected: Model = new Map();
        applyInOrder(
          expected,
          traffic.filter((one) => one !== "turn"),
        );
        assert.deepEqual(sortByKey(await readModel()), sortByKey(expected));
      }),
      { numRuns: 25 },
    );
  });

  it("removes very many tokens of a user in several batches, and others' between them", async () => {
    const sizes: number[] = [];
    const removals: string[] = [];
    const { submit } = new GroupCommit({
      async write(writes) {
        removals.push(...writes.flatMap(({ kind, user }) => (kind === "remove" ? [user] : [])));
        const results = await createInstallationStore(database, 10).write(writes);
        sizes.push(await records.countDocuments({ user: "many", active: true }));
        return results;
      },
    });
    const removal = (user: string): InstallationWrite => ({
      kind: "remove",
      application,
      platform: "ios",
      user,
      reason: "removed",
    });
    await Promise.all(Array.from({ length: 25 }, () => submit(registration(unique("many"), "many"))));
    await submit(registration("of one", "one"));
    sizes.length = 0;
    const all = submit(removal("many"));
    const later = submit(registration("later", "many"));
    await submit(removal("one"));
    assert.equal((await records.findOne({ token: "of one" }))?.active, false);
    await Promise.all([all, later]);
    assert.ok(removals.indexOf("one") < removals.lastIndexOf("many"), "the large one still ran");
    assert.deepEqual(
      (await records.find({ user: "many", active: true }).toArray()).map(({ token }) => token),
      ["later"],
    );
    const removed = sizes.map((left, at) => (sizes[at - 1] ?? 25) - left);
    assert.ok(
      removed.every((count) => count <= 10),
      removed.join(),
    );
  });

  it("writes a lone request at once and gathers those that follow", async () => {
    const sizes: number[] = [];
    const counting = {
      write(writes: readonly InstallationWrite[]) {
        sizes.push(writes.length);
        return store.write(writes);
      },
    };
    const { submit } = new GroupCommit(counting, { limits: { writesPerBatch: 50 } });
    const submitMany = (count: number) =>
      Promise.all(Array.from({ length: count }, () => submit(registration(unique("many")))));
    await submit(registration(unique("lone")));
    const lone = submit(registration(unique("lone")));
    assert.deepEqual(sizes, [1, 1], "it does not wait for the end of the turn");
    await Promise.all([lone, submitMany(15)]);
    assert.deepEqual(sizes, [1, 1, 15], "a small batch waits for the one in flight");
    await submitMany(10);
    assert.deepEqual(sizes.splice(0), [1, 1, 15, 10], "the requests of one turn are flushed at its end");
    await submitMany(26);
    assert.deepEqual(sizes.splice(0), [10, 16], "the second is flushed while the first is in flight");
    await submitMany(100);
    assert.deepEqual(sizes.splice(0), [16, 16, 50, 18], "a third is flushed only when full");
  });

  it("does not recheck waiting writes for each submission", async () => {
    let reads = 0;
    const { submit } = new GroupCommit(store);
    const token = unique("same");
    const write = {
      ...registration(token),
      get key() {
        reads += 1;
        return { application, platform: "ios", token };
      },
    };
    const answers = Array.from({ length: 500 }, () => submit(write));
    assert.ok(reads < 10 * 500, `${reads} reads`);
    await Promise.all(answers);
  });

  it("continues after batches that fail within the turn in which they were flushed", async () => {
    const { submit } = new GroupCommit({ write: () => Promise.reject(new UnavailableError("away")) });
    for (const count of [3, 2, 1]) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: count }, () => submit(registration(unique("away")))),
      );
      assert.ok(outcomes.every(({ status }) => status === "rejected"));
      await nextTurn();
    }
  });

  it("limits the characters of a batch", async () => {
    const sizes: number[] = [];
    const counting = {
      write(writes: readonly InstallationWrite[]) {
        sizes.push(writes.length);
        return store.write(writes);
      },
    };
    const { submit } = new GroupCommit(counting, { limits: { charactersPerBatch: 10_000 } });
    await Promise.all(Array.from({ length: 5 }, () => submit(registration(unique("x").padEnd(4_000, "x")))));
    assert.deepEqual(sizes, [1, 2, 2]);
  });

  it("rejects requests while too many wait and accepts them again later", async () => {
    const { submit } = new GroupCommit(store, { limits: { waitingWrites: 4 } });
    // The first is in flight and does not wait.
    const names = Array.from({ length: 7 }, () => unique("flood"));
    const outcomes = await Promise.allSettled(names.map((token) => submit(registration(token))));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
    );
    for (const outcome of outcomes.slice(5))
      assert.ok(outcome.status === "rejected" && outcome.reason instanceof OverloadedError);
    assert.equal(await records.countDocuments({ token: { $in: names } }), 5);
    await submit(registration(names[6] ?? ""));

    const long = new GroupCommit(store, { limits: { waitingCharacters: 6_000 } });
    const big = await Promise.allSettled(
      [1, 2, 3].map((n) => long.submit(registration(`${n}`.padEnd(4_000, "x")))),
    );
    assert.deepEqual(
      big.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected"],
    );
  });

  it("fails only the requests of a failed batch", async () => {
    const proxy = await startTcpProxy(getPort(sharedStack().mongodb));
    const proxied = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&serverSelectionTimeoutMS=500`;
    const { submit } = new GroupCommit(await connectStore(databaseUri(proxied, db.databaseName)));
    // Half a second may be too short for the first connection.
    await until("the store is found", () => submit(registration(unique("before"))).then(() => true));
    proxy.cut();
    const lost = await Promise.allSettled([1, 2, 3].map(() => submit(registration(unique("lost")))));
    for (const outcome of lost)
      assert.ok(outcome.status === "rejected" && outcome.reason instanceof UnavailableError, outcome.status);
    proxy.heal();
    const kept = unique("kept");
    // The driver looks for the store again at most twice a second.
    await until("the store is found again", () => submit(registration(kept)).then(() => true));
    assert.equal(await records.countDocuments({ token: kept }), 1);
  });

  it("fails a rejected write but not the others of its batch", async () => {
    const { submit } = new GroupCommit(store);
    const [left, broken, right] = [unique("left"), unique("broken"), unique("right")] as const;
    await submit(registration(broken, "bob"));
    // Edited by hand: an owner cannot be appended to a text.
    await db
      .collection("sys_push_notif_app_install")
      .updateOne({ token: broken }, { $set: { previous_owners: "x" } });
    const outcomes = await Promise.allSettled(
      [left, broken, right].map((token) => submit(registration(token))),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.equal(await records.countDocuments({ token: { $in: [left, right] }, active: true }), 2);
  });

  it("keeps one record and every owner when two instances register the same tokens for different users", async () => {
    const [here, there] = [new GroupCommit(store), new GroupCommit(await connectStore())];
    const names = Array.from({ length: 20 }, () => unique("raced"));
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        names.flatMap((token) => [
          here.submit(registration(token, "ann")),
          there.submit(registration(token, "bob")),
        ]),
      );
    }
    const found = await records.find({ token: { $in: names } }).toArray();
    assert.equal(found.length, names.length);
    for (const { user, active, previous_owners: owners = [] } of found) {
      assert.equal(active, true);
      // Tokens move back and forth, so no owner follows itself.
      const line = [...owners.map((owner) => owner.user), user];
      assert.ok(
        line.every((name, i) => i === 0 || name !== line[i - 1]),
        line.join(),
      );
    }
  });

  it("keeps the last twenty owners of a token", async () => {
    const { submit } = new GroupCommit(store);
    const token = unique("wandering");
    for (let i = 0; i < 25; i += 1) await submit(registration(token, `user-${i}`));
    const record = await records.findOne({ token });
    assert.deepEqual(
      record?.previous_owners?.map(({ user }) => user),
      Array.from({ length: 20 }, (_, i) => `user-${i + 4}`),
    );
  });
});

const sortByKey = (model: Model) => [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
