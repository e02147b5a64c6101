import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { PlanError, RejectionError } from "@topicsync/lib/errors";
import { createEgressNaming } from "@topicsync/kafka";
import { allowAll } from "../../support/allow-all.ts";
import type { SetPlanOptions } from "../../../src/plans/create-plan.ts";
import type { DesiredTopic } from "../../../src/plans/desired.ts";
import { parsePlan } from "../../../src/plans/plan-file.ts";
import type { PlanResult } from "../../../src/plans/plan.ts";
import { toDetails } from "../../../src/topics/details/details.ts";
import { createDesired, createMemorySets, toDesiredSet } from "./memory-sets.ts";

/** Topics that are stored as members of the set. */
async function createScene(...stored: readonly DesiredTopic[]) {
  const world = createMemorySets();
  const { plan } = await world.plan(toDesiredSet(stored));
  await world.apply(plan.changes);
  return {
    ...world,
    plan: (files: readonly DesiredTopic[], options: Partial<SetPlanOptions> = {}) =>
      world.plan(toDesiredSet(files), options),
  };
}

const range = (count: number) => Array.from({ length: count }, (_, at) => createDesired(`t${at}`));
const toNotes = ({ plan }: PlanResult) =>
  Object.fromEntries(plan.changes.map(({ externalId, notes }) => [externalId, notes]));
const toBlocked = ({ blocked }: PlanResult) => blocked.map(({ externalId, code }) => `${externalId} ${code}`);

describe("a plan", () => {
  it("disables at most 10 topics or 10 % of the set, unless more are allowed", async () => {
    const [small, large] = [await createScene(...range(30)), await createScene(...range(120))];
    const plan = (scene: typeof small, left: number, maxDeletes?: SetPlanOptions["maxDeletes"]) =>
      scene.plan(range(left), { prune: true, maxDeletes });
    assert.equal((await plan(small, 20)).plan.changes.length, 10);
    assert.equal((await plan(large, 108)).plan.changes.length, 12);
    await assert.rejects(plan(small, 19), PlanError);
    await assert.rejects(
      plan(large, 107),
      /would disable 13 of the 120 topics of the set, and at most 12 are allowed.*--max-deletes 13/,
    );
    assert.equal((await plan(large, 107, { count: 13 })).plan.changes.length, 13);
    await assert.rejects(plan(large, 106, { count: 13 }), PlanError);
    assert.equal((await plan(large, 60, { percent: 50 })).plan.changes.length, 60);
    await assert.rejects(plan(large, 59, { percent: 50 }), PlanError);
    const disabled = range(120).slice(100);
    await large.topics.change(
      disabled.map(({ externalId }) => ({ kind: "disable", externalId })),
      { user: "bob", check: allowAll },
    );
    await assert.rejects(plan(large, 89), /11 of the 100 topics of the set, and at most 10/);
  });

  it("has files with topics, of one origin", async () => {
    const { plan } = await createScene(createDesired("a"));
    await assert.rejects(plan([], { allowEmpty: false }), /--allow-empty/);
    assert.deepEqual((await plan([], { allowEmpty: true })).orphaned, [{ externalId: "a", path: "a.yaml" }]);
    const world = createMemorySets();
    const files = toDesiredSet([createDesired("a")]);
    const findSet = (origin?: string) => () => Promise.resolve({ origin });
    const planFrom = (stored: string | undefined, origin: string | undefined) => {
      world.source.findSet = findSet(stored);
      return world.plan(files, { origin });
    };
    for (const stored of [undefined, "here"]) await planFrom(stored, "here");
    for (const origin of [undefined, "there"]) await assert.rejects(planFrom("here", origin), RejectionError);
  });

  it("says what a change of filters does, and what is known of events", async () => {
    const filter = (externalId: string, contentQuery: string): DesiredTopic => {
      const one = createDesired(externalId);
      return { ...one, definition: one.definition && { ...one.definition, contentQuery } };
    };
    const { plan } = await createScene(
      filter("a", "x=1"),
      filter("b", "x=1,2"),
      filter("c", "x=1"),
      filter("d", "x=1"),
    );
    const named = createDesired("d", { name: "other" });
    const { plan: made } = await plan([
      filter("a", "x=1,2"),
      filter("b", "x=1"),
      filter("c", "x=1,%31"),
      { ...named, definition: named.definition && { ...named.definition, contentQuery: "x=1" } },
      filter("e", "x=3"),
    ]);
    assert.deepEqual(
      made.changes.map(({ externalId, effect, warnings }) => [
        externalId,
        effect,
        warnings.map(({ condition }) => condition),
      ]),
      [
        ["a", "widened", ["x=1,2"]],
        ["b", "narrowed", ["x=1"]],
        ["c", "same", []],
        ["d", undefined, []],
        ["e", undefined, ["x=3"]],
      ],
    );
  });

  it("suggests a rename for a topic that is created as another one was", async () => {
    const { plan } = await createScene(createDesired("old"), createDesired("other"));
    const files = [createDesired("new", { name: "old" }), createDesired("other")];
    const blocked = await plan(files);
    assert.deepEqual(toBlocked(blocked), ["new DUPLICATE_COMBINATION"]);
    assert.match(blocked.blocked[0]?.message ?? "", /are those of "old"; .*add `renamedFrom: old`/);
    assert.deepEqual(toNotes(await plan(files, { prune: true })), {
      new: ["looks like a rename; `renamedFrom: old` keeps the sys_id and the history"],
      old: [],
    });
    const changed = await plan([createDesired("other", { name: "old" })]);
    assert.doesNotMatch(changed.blocked[0]?.message ?? "", /renamedFrom/);
  });

  it("moves a topic to another file", async () => {
    const { plan, apply, read } = await createScene(createDesired("a"));
    const { plan: made } = await plan([createDesired("a", { path: "b.yaml" })]);
    assert.equal(await apply(made.changes), 1);
    assert.equal(read().details.get("a")?.membership?.path, "b.yaml");
  });

  it("renames a topic to what a disabled member of the set was called", async () => {
    const { plan, topics } = await createScene(createDesired("old"), createDesired("new"));
    await topics.change([{ kind: "disable", externalId: "new" }], { user: "bob", check: allowAll });
    const { plan: made } = await plan([createDesired("new", { name: "old", renamedFrom: "old" })]);
    assert.deepEqual(
      made.changes.map(({ action, externalId }) => `${action} ${externalId}`),
      ["rename old"],
    );
    const unnamed = { ...createDesired("new", { renamedFrom: "old" }), definition: undefined };
    assert.deepEqual(toBlocked(await plan([unnamed])), ["new DEFINITION_MISSING"]);
  });

  it("gives a combination that two topics want to the first of them", async () => {
    const { plan, apply } = await createScene();
    const files = [createDesired("a", { name: "x" }), createDesired("b", { name: "x" })];
    const result = await plan(files);
    assert.deepEqual(toBlocked(result), ["b DUPLICATE_COMBINATION"]);
    assert.match(result.blocked[0]?.message ?? "", /are those of "a"/);
    assert.equal(await apply(result.plan.changes), 1);
  });

  it("blocks what waits for a blocked change, and frees what a disabled topic has", async () => {
    const { plan } = await createScene(
      ...["a", "b", "c"].map((id) => createDesired(id)),
      createDesired("d", { details: toDetails({ protected: true }) }),
    );
    const files = [
      createDesired("a", { name: "b" }),
      createDesired("b", { name: "d" }),
      createDesired("e", { name: "c" }),
    ];
    const result = await plan(files, { prune: true });
    assert.deepEqual(toBlocked(result).toSorted(), [
      "a DUPLICATE_COMBINATION",
      "b DUPLICATE_COMBINATION",
      "d PROTECTED",
    ]);
    assert.deepEqual(Object.keys(toNotes(result)), ["e", "c"]);
  });

  it("says where events go, and that a topic is a draft now", async () => {
    const { plan } = await createScene(createDesired("a"), createDesired("b"), createDesired("c"));
    const files = [
      createDesired("A", { name: "a", renamedFrom: "a" }),
      createDesired("b", { owner: "noc" }),
      createDesired("c", { isDraft: true }),
      createDesired("é"),
    ];
    const egressNaming = createEgressNaming("out.{externalId}", new Set());
    const notes = toNotes(await plan(files, { egressNaming }));
    assert.match(notes["é"]?.[0] ?? "", /^no events can be forwarded to its egress topic: "out\.é"/);
    assert.deepEqual(
      { ...notes, é: [] },
      { a: ["its events go to the Kafka topic out.A instead of out.a"], b: [], c: ["is a draft now"], é: [] },
    );
  });
});

describe("a plan file", () => {
  it("has the whole plan, and shows whether it was edited", async () => {
    const everything = toDetails({
      ...{
        owner: "noc",
        description: "d",
        contact: "c",
        tags: ["x"],
        labels: { a: "1" },
        lifecycle: "deprecated",
      },
      ...{ sunset: "2030-01-01", replacedBy: "b", consumers: [{ name: "c", contact: "d" }], protected: true },
    });
    const { plan } = await createScene(createDesired("a", { details: everything }), createDesired("b"));
    const { plan: made } = await plan(
      [createDesired("a", { owner: "ran" }), createDesired("c", { details: everything })],
      { prune: true, origin: "here", revision: "3f2a91c" },
    );
    const text = JSON.stringify(made);
    assert.match(made.sha256, /^[0-9a-f]{64}$/);
    assert.deepEqual(parsePlan(text), made);
    for (const [damaged, reason] of [
      [text.replace('"owner":"ran"', '"owner":"run"'), /was changed since it was written/],
      [text.slice(0, -1), /not a plan of the format/],
      [text.replace("topicsync-plan/1", "topicsync-plan/2"), /not a plan of the format topicsync-plan\/1/],
      [text.replace('"expects":null', '"expects":1'), /The plan is damaged/],
      ["", /not a plan/],
    ] as const)
      assert.throws(() => parsePlan(damaged), reason);
  });
});
