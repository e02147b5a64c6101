/** Applies of plans with many changes, and at once. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import type { Document } from "mongodb";

import { PlanError } from "@topicsync/lib/errors";
import { createLifecycle } from "@topicsync/lib/lifecycle";
import { createServices } from "../../../../src/service/services.ts";
import { readConfig } from "../../../../src/config/config.ts";
import { collections } from "../../../../src/storage/names.ts";
import { toBatches } from "../../../../src/plans/batches.ts";
import { createPlan } from "../../../../src/plans/create-plan.ts";
import { digestManaged, type DesiredSet } from "../../../../src/plans/desired.ts";
import type { TopicPlan } from "../../../../src/plans/plan.ts";
import { noDetails } from "../../../../src/topics/details/details.ts";
import { replaceDetails } from "../../../../src/topics/details/service.ts";
import { restoreTopic } from "../../../../src/topics/restoring.ts";
import { allowAll } from "../../../support/allow-all.ts";
import { applyAnnouncements } from "../../../support/apply-batch.ts";
import { connectDatabase, repeatWithoutLimit } from "../../../support/database.ts";
import { unique } from "../../../support/names.ts";
import { createDefinition } from "../../topics/model.ts";
import { createSource, everywhere } from "../../plans/memory-sets.ts";

const { database, db, log } = await connectDatabase();
repeatWithoutLimit();
const lifecycle = createLifecycle(log);
const retentionDays = 3;
const services = createServices({
  config: readConfig({ HISTORY_RETENTION_DAYS: String(retentionDays) }),
  ...{ database, log, lifecycle },
});
const { planReader, topicSetStore, applyChanges, topicHistory } = services;
const topics = db.collection<{ _id: string; topic_id: string; topic_name: string }>(collections.topics);

beforeEach(async () => {
  for (const name of [
    collections.topics,
    collections.topicDetails,
    collections.topicSets,
    collections.topicVersions,
    collections.topicDescriptions,
  ])
    await db.collection(name).deleteMany({});
});

/** What files say besides the names. */
interface FileOptions {
  readonly prune?: boolean;
  readonly owner?: string;
  readonly renamedFrom?: string;
}

/** Files that name topics, in memory. */
function toDesiredSet(
  names: ReadonlyMap<string, string>,
  { owner = "", renamedFrom }: FileOptions,
): DesiredSet {
  const path = "a.yaml";
  const details = { ...noDetails, owner };
  const all = [...names].map(([externalId, name]) => ({
    ...{ externalId, definition: createDefinition(externalId, name), details, path },
    ...{ renamedFrom, isDraft: false },
  }));
  const place = { file: path, line: 1, column: 1 };
  return {
    ...{ set: "noc", files: 1, paths: [""] },
    topics: new Map(
      all.map((one) => [
        one.externalId,
        { ...place, digest: digestManaged(one), isDraft: false, renamedFrom },
      ]),
    ),
    async *read(ids) {
      await Promise.resolve();
      yield* all.filter(({ externalId }) => ids.has(externalId));
    },
  };
}

async function plan(names: ReadonlyMap<string, string>, options: FileOptions = {}): Promise<TopicPlan> {
  const { prune = false } = options;
  const { plan: made, blocked } = await createPlan(
    toDesiredSet(names, options),
    createSource(planReader, topicSetStore),
    {
      ...{ prune, maxDeletes: undefined, allowEmpty: true, adopt: false, takeOver: undefined },
      ...{ origin: undefined, revision: undefined, user: "ann", now: new Date(), egressNaming: undefined },
    },
  );
  assert.deepEqual(blocked, []);
  return made;
}

/** Returns how many changes each batch made. */
async function apply({ database: id, changes }: TopicPlan, digest: string): Promise<number[]> {
  const applied: number[] = [];
  for (const batch of toBatches(changes)) {
    const common = { database: id, set: "noc", plan: digest, total: changes.length };
    const result = await applyChanges({ ...common, changes: batch }, { user: "ann", access: everywhere });
    applied.push(result.applied);
  }
  return applied;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe("a plan with more changes than one batch", () => {
  it("exchanges combinations in a long chain and in a ring, and keeps the sys_ids", async () => {
    const [chain, ring, others] = [200, 3, 310];
    const name = (next: number) =>
      new Map([
        ...range(others).map((at): [string, string] => [`other${at}`, `o${at} ${next}`]),
        ...range(chain).map((at): [string, string] => [`chain${at}`, `c${at + next}`]),
        ...range(ring).map((at): [string, string] => [`ring${at}`, `r${(at + next) % ring}`]),
      ]);
    assert.deepEqual(await apply(await plan(name(0)), "p0"), [500, 13]);
    const read = async () =>
      (await topics.find({}, { sort: { topic_id: 1 } }).toArray()).map(({ _id, topic_id }) => [
        topic_id,
        _id,
      ]);
    const ids = await read();
    const changes = await plan(name(1));
    assert.deepEqual(await apply(changes, "p1"), [500, 13]);
    assert.deepEqual(await apply(changes, "p1"), [0, 0]);
    assert.deepEqual(await read(), ids);
    assert.deepEqual((await plan(name(1))).changes, []);
  });
});

describe("an apply", () => {
  it("adds to the history what it changes of the details, and nothing else", async () => {
    const list = async (externalId: string): Promise<unknown[]> => {
      const all = await topicHistory.readDescriptions(externalId, {
        namespaces: "all",
        after: undefined,
        limit: 99,
      });
      return all.map(({ details, before }) => [
        details.externalId,
        details.version,
        `${before?.owner ?? ""} to ${details.owner}`,
      ]);
    };
    const [one, changed] = [new Map([["a", "a"]]), new Map([["a", "changed"]])];
    await apply(await plan(one, { owner: "noc" }), "p0");
    assert.deepEqual(await list("a"), [["a", 1, " to noc"]]);
    await apply(await plan(changed, { owner: "noc" }), "p1");
    assert.deepEqual(await list("a"), [["a", 2, " to noc"]]);
    const described = await plan(changed, { owner: "ran" });
    await apply(described, "p2");
    await apply(described, "p2");
    const expected = [
      ["a", 3, "noc to ran"],
      ["a", 2, " to noc"],
    ];
    assert.deepEqual(await list("a"), expected);
    const renamed = await plan(new Map([["b", "changed"]]), { owner: "ran", renamedFrom: "a" });
    await apply(renamed, "p3");
    assert.deepEqual(await list("b"), [["b", 1, "ran to ran"], ...expected]);
  });
});

describe("two applies of overlapping plans", () => {
  it("leave each topic as exactly one plan says, and the other plan is stale", async () => {
    const rounds = Number(process.env["APPLY_RACES"] ?? 30);
    const ids = ["a", "b", "c", "d"];
    const name = (change: string, ...some: string[]) =>
      new Map(ids.map((id) => [id, some.includes(id) ? `${id} ${change}` : id]));
    await apply(await plan(name("")), "p0");
    for (let round = 0; round < rounds; round += 1) {
      const plans = [
        await plan(name(`left ${round}`, "a", "b", "c")),
        await plan(name(`right ${round}`, "d", "c", "b")),
      ];
      const ends = await Promise.allSettled(plans.map((one, at) => apply(one, `${round}-${at}`)));
      assert.deepEqual(ends.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
      const [loser] = ends.filter((end) => end.status === "rejected");
      assert.ok(loser?.reason instanceof PlanError, String(loser?.reason));
      const isLeft = ends[0]?.status === "fulfilled";
      const winner = isLeft ? name(`left ${round}`, "a", "b", "c") : name(`right ${round}`, "d", "c", "b");
      const found = await topics.find().toArray();
      assert.deepEqual(new Map(found.map((one) => [one.topic_id, one.topic_name])), winner);
      await apply(await plan(name("")), `${round}`);
    }
    // Each round changes three topics and changes them back.
    assert.equal(await db.collection(collections.topicVersions).countDocuments(), rounds * 6);
  });
});

describe("a retention", () => {
  const { topics: service, topicStore } = services;
  const options = { user: "ann", check: allowAll };
  const rename = (from: string, to: string) =>
    service.change([{ kind: "change", externalId: from, definition: createDefinition(to) }], options);
  const switchTo = (kind: "enable" | "disable", externalId: string) =>
    service.change([{ kind, externalId }], options);
  const describeTopic = (externalId: string, owner: string) =>
    replaceDetails(services, {
      ...{ externalId, details: { ...noDetails, owner }, version: undefined, user: "ann" },
      ...{ canSee: () => true, check: allowAll },
    });
  async function announce(externalId: string, ...names: readonly string[]): Promise<void> {
    const key = { group: unique("group"), topic: unique("channel"), partition: 0 };
    await topicStore.claim(key);
    await applyAnnouncements({
      ...{ store: topicStore, key, from: undefined, to: { offset: names.length, epoch: 1 } },
      announcements: names.map((name, offset) => ({
        ...{ kind: "define", offset, definition: createDefinition(externalId, name) },
      })),
    });
  }
  const applyFiles = async (names: Record<string, string>, files: FileOptions) => {
    const made = await plan(new Map(Object.entries(names)), files);
    assert.ok(made.changes.length > 0);
    await apply(made, JSON.stringify(files));
  };

  /** Each with how many versions and details it ends. */
  const steps: readonly (readonly [what: string, ended: number, act: () => Promise<unknown>])[] = [
    ["is created", 0, () => service.create(createDefinition("a"), "ann")],
    ["is described", 0, () => describeTopic("a", "one")],
    ["is described again", 1, () => describeTopic("a", "two")],
    ["is renamed with its details", 2, () => rename("a", "b")],
    ["is disabled", 0, () => switchTo("disable", "b")],
    ["is enabled", 0, () => switchTo("enable", "b")],
    ["is restored", 1, () => restore("b", 1)],
    ["leaves details under a new external id", 0, () => leaveDetails("c")],
    ["is renamed to where details were left", 3, () => rename("b", "c")],
    ["is created for the channel", 0, () => service.create(createDefinition("g"), "ann")],
    ["is adopted by the channel and changed twice", 3, () => announce("g", "g", "g1", "g2")],
    ["is created by a set", 0, () => applyFiles({ d: "d" }, { owner: "three" })],
    ["is changed by a set", 2, () => applyFiles({ d: "d1" }, { owner: "four" })],
    ["is renamed by a set", 2, () => applyFiles({ e: "d1" }, { owner: "four", renamedFrom: "d" })],
    ["is pruned", 1, () => applyFiles({ f: "f" }, { prune: true })],
  ];
  const restore = (externalId: string, version: number) =>
    restoreTopic(
      services,
      { externalId, version, expected: undefined, canSee: () => true, checkDefinition: allowAll },
      options,
    );
  async function leaveDetails(externalId: string): Promise<void> {
    await service.create(createDefinition(externalId), "ann");
    await describeTopic(externalId, "left");
    await switchTo("disable", externalId);
  }

  async function findEnded(): Promise<Document[]> {
    const all = await db.collections();
    return (await Promise.all(all.map((one) => one.find({ valid_to: { $exists: true } }).toArray()))).flat();
  }

  it("lets every ended version and description expire, however it ended", async () => {
    let count = 0;
    const counts: unknown[] = [];
    for (const [what, , act] of steps) {
      await act();
      const found = await findEnded();
      for (const { valid_to: endedOn, expires_on: expiresOn } of found)
        assert.equal(Number(expiresOn) - Number(endedOn), retentionDays * 24 * 3_600_000, what);
      counts.push([what, found.length - count]);
      count = found.length;
    }
    assert.deepEqual(
      counts,
      steps.map(([what, ended]) => [what, ended]),
    );
  });
});
