/** Attempts to apply a batch that fail one after another, each in another way. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { PlanError, RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { createApply } from "../../../src/plans/apply.ts";
import type { PlannedChange } from "../../../src/plans/plan.ts";
import type { SetWrites } from "../../../src/plans/stores.ts";
import { ChangesRejectedError } from "../../../src/topics/changing.ts";
import { DetailsConflictError } from "../../../src/topics/details/store.ts";
import { noDetails, toNextDetails } from "../../../src/topics/details/details.ts";
import { createDesired, createMemorySets, everywhere, toDesiredSet } from "./memory-sets.ts";

/** How an attempt fails: an election loses what was read, or something happens before the write. */
type Failure = { readonly election: () => unknown } | { readonly write: () => unknown };

const conflict: Failure = {
  write() {
    throw new DetailsConflictError();
  },
};
const election: Failure = { election: () => undefined };

/** A plan of three changes: the details of `a`, `b` as a whole, and a new topic `c`. `a` is made already. */
async function createScene() {
  const world = createMemorySets();
  const plan = async (files: Parameters<typeof toDesiredSet>[0]): Promise<PlannedChange[]> =>
    (await world.plan(toDesiredSet(files))).plan.changes;
  await world.apply(await plan([createDesired("a"), createDesired("b")]));
  const changes = await plan([
    createDesired("a", { owner: "x" }),
    createDesired("b", { name: "y", owner: "y" }),
    createDesired("c"),
  ]);
  const [first, second, third] = changes;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const former = world.read().details.get("a") ?? assert.fail();
  await world.apply([first]);
  const before = world.read();

  const { sets, topics, reader, now } = world.stores;
  const written: SetWrites[] = [];
  let attempts = 0;

  /** Applies the plan. Attempts fail in this order, then one succeeds. */
  function applyAfter(...failures: readonly Failure[]) {
    attempts = 0;
    const apply = createApply({
      ...{ topics, reader, now },
      sets: {
        ...sets,
        getPrimary: () => `primary ${(attempts += 1)}`,
        async confirmReads(primary) {
          assert.equal(primary, `primary ${attempts}`, "the primary that was read from");
          const failure = failures[attempts - 1];
          if (failure === undefined || "write" in failure) return true;
          await failure.election();
          return false;
        },
        async write(writes) {
          const failure = failures[attempts - 1];
          if (failure !== undefined && "write" in failure) await failure.write();
          await sets.write(writes);
          written.push(writes);
        },
      },
    });
    const batch = { database: "database", set: "noc", plan: "p" };
    return apply({ ...batch, total: changes.length, changes }, { user: "ann", access: everywhere });
  }

  return {
    ...world,
    applyAfter,
    before,
    countAttempts: () => attempts,
    /** What was written by attempts. */
    written,
    /** Another process makes changes of the same plan. */
    applyElsewhere: (...numbers: readonly ("b" | "c")[]) =>
      world.apply(numbers.map((one) => (one === "b" ? second : third))),
    /** An election loses the change of `a`. */
    loseFirst: (): void => {
      world.putDetails(former);
    },
    /** The version of each topic, and of its details. */
    listVersions: () =>
      [...world.read().topics].map(
        ([id, { version }]) => `${id} ${version} ${world.read().details.get(id)?.version ?? 0}`,
      ),
  };
}

const listEvents = (events: readonly AuditEvent[]): string[] =>
  events
    .map((event) => ("externalId" in event ? `${event.action} ${event.externalId}` : event.action))
    .toSorted();

describe("an apply whose attempts fail in different ways", () => {
  it("makes after a conflict and an election what is still open, and what the election has lost", async () => {
    const scene = await createScene();
    const { applied, events } = await scene.applyAfter(conflict, { election: scene.loseFirst });
    assert.equal(applied, 3);
    assert.deepEqual(listEvents(events), ["topic.changed b", "topic.created c", "topic.described a"]);
    assert.deepEqual(scene.listVersions(), ["a 1 2", "b 2 2", "c 1 1"]);
    assert.deepEqual(
      scene.written.map((writes) => [writes.applied, writes.apply.total, writes.details.length]),
      [[3, 3, 3]],
    );
    assert.equal(scene.countAttempts(), 3);
  });

  it("makes after an election and a conflict only what another process has not made", async () => {
    const scene = await createScene();
    const race: Failure = { write: () => scene.applyElsewhere("b") };
    const { applied, events } = await scene.applyAfter(election, race);
    assert.deepEqual([applied, listEvents(events)], [1, ["topic.created c"]]);
    assert.deepEqual(scene.listVersions(), ["a 1 2", "b 2 2", "c 1 1"]);
    assert.deepEqual(
      scene.written.map((writes) => writes.details.map(({ externalId }) => externalId)),
      [["c"]],
    );
  });

  it("makes nothing twice if another process makes everything between its attempts", async () => {
    const scene = await createScene();
    const first: Failure = { write: () => scene.applyElsewhere("b") };
    const second: Failure = { write: () => scene.applyElsewhere("c") };
    assert.deepEqual(await scene.applyAfter(first, second, election), { applied: 0, events: [] });
    assert.equal(scene.countAttempts(), 4, "that everything is made is confirmed, too");
    assert.deepEqual(scene.listVersions(), ["a 1 2", "b 2 2", "c 1 1"]);
    assert.deepEqual(scene.written, []);
  });

  it("ends with a change of another user, which it finds after a conflict, and makes nothing", async () => {
    const scene = await createScene();
    const change: Failure = {
      write() {
        const details = scene.read().details.get("b");
        const [topic] = scene.table.topics.filter(({ externalId }) => externalId === "b");
        assert.ok(topic !== undefined);
        const at = new Date("2026-02-01");
        const next = { topic, details: { ...noDetails, owner: "z" }, by: "mallory", at };
        scene.putDetails(toNextDetails(details, next));
      },
    };
    await assert.rejects(scene.applyAfter(election, change), (error: unknown) => {
      assert.ok(error instanceof PlanError);
      assert.match(error.message, /^the details of "b" have version 2, not 1: "mallory" changed them/);
      return true;
    });
    assert.equal(scene.countAttempts(), 3);
    assert.deepEqual(scene.listVersions(), ["a 1 2", "b 1 2"]);
    assert.deepEqual(scene.written, []);
  });

  it("ends with any other error of its second attempt as it is, and makes nothing", async () => {
    const outage = new UnavailableError("away");
    const taken = new ChangesRejectedError([
      { index: 0, problem: new RejectionError("DUPLICATE_EXTERNAL_ID", "taken") },
    ]);
    for (const [error, expected] of [
      [outage, outage],
      [taken, new PlanError("taken\nNothing of this batch was changed. Plan again.")],
    ] as const)
      for (const first of [conflict, election]) {
        const scene = await createScene();
        const second: Failure = {
          write() {
            throw error;
          },
        };
        await assert.rejects(scene.applyAfter(first, second), (thrown: unknown) => {
          assert.ok(thrown instanceof Error);
          assert.equal(thrown.constructor, expected.constructor);
          assert.equal(thrown.message, expected.message);
          if (expected === outage) assert.equal(thrown, outage);
          return true;
        });
        assert.equal(scene.countAttempts(), 2);
        assert.deepEqual(scene.read(), scene.before);
      }
  });

  it("succeeds with its tenth attempt, and ends with an error after it", async () => {
    const failures = Array.from({ length: 10 }, (_, number) => (number % 2 === 0 ? conflict : election));
    const lucky = await createScene();
    assert.equal((await lucky.applyAfter(...failures.slice(1))).applied, 2);
    assert.equal(lucky.countAttempts(), 10);
    assert.deepEqual(lucky.listVersions(), ["a 1 2", "b 2 2", "c 1 1"]);
    const scene = await createScene();
    await assert.rejects(
      scene.applyAfter(...failures),
      /^Error: nothing was changed: other writers changed the set 10 times$/,
    );
    assert.equal(scene.countAttempts(), 10);
    assert.deepEqual(scene.read(), scene.before);
  });
});
