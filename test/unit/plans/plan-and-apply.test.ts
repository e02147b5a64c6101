/** Plans and applies of any files on any topics, against the rules of their documentation. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { PlanError } from "@topicsync/lib/errors";
import { allowAll } from "../../support/allow-all.ts";
import { toBatches } from "../../../src/plans/batches.ts";
import type { SetPlanOptions } from "../../../src/plans/create-plan.ts";
import type { DesiredTopic } from "../../../src/plans/desired.ts";
import { readDriftPage, type Drift } from "../../../src/plans/drift.ts";
import type { PlannedChange, PlanResult } from "../../../src/plans/plan.ts";
import { ChangesRejectedError } from "../../../src/topics/changing.ts";
import type { DefinitionChange } from "../../../src/topics/definition-change.ts";
import { formatDetails, noDetails, toNextDetails } from "../../../src/topics/details/details.ts";
import {
  getCombination,
  isSameDefinition,
  type Source,
  type TopicDefinition,
} from "../../../src/topics/topic.ts";
import { includesNamespace, type Namespaces } from "../../../src/users/rights.ts";
import { createDesired, createMemorySets, toDesiredSet, type StoredState } from "./memory-sets.ts";

type World = ReturnType<typeof createMemorySets>;

const ids = ["a", "b", "c", "d", "e", "f"];
const names = ["u", "v", "w", "x", "y", "z"];
const folders = ["", "a", "a/b", "a/bc", "a/b.yaml"];
const files = ["a/b/x.yaml", "a/bc/x.yaml", "a/b.yaml"];
const namespaces = ["", "space"];

/** Whether a file is one of these, or in one of these folders. */
const isIn = (file: string, paths: readonly string[]): boolean =>
  paths.some((path) => path.split("/").every((part, at) => path === "" || file.split("/")[at] === part));

const toDefinition = (id: string, name: string, namespace = ""): TopicDefinition => ({
  ...{ ...createDesired(id, { name }).definition, externalId: id, name, headerQuery: "" },
  ...{ namespace, contentQuery: `a=${name}` },
});

/** What an apply does. */
interface Run {
  readonly kind: "run";
  readonly set: string;
  readonly all: readonly DesiredTopic[];
  readonly paths: readonly string[];
  readonly options: Pick<SetPlanOptions, "prune" | "adopt" | "takeOver">;
  readonly maxBatch: number;
}

const desired = fc.record({
  path: fc.constantFrom(...files),
  owner: fc.constantFrom("", "noc"),
  namespace: fc.constantFrom(...namespaces),
  isProtected: fc.nat(5).map((one) => one === 0),
  isDraft: fc.nat(5).map((one) => one === 0),
  hasDefinition: fc.nat(7).map((one) => one > 0),
  renamedFrom: fc.option(fc.constantFrom(...ids), { nil: undefined, freq: 2 }),
});

const runs: fc.Arbitrary<Run> = fc
  .record({
    isOther: fc.nat(3).map((one) => one === 0),
    topics: fc.shuffledSubarray(ids),
    names: fc.shuffledSubarray(names, { minLength: names.length }),
    /** Two topics each have one name. */
    isCrowded: fc.nat(4).map((one) => one === 0),
    desired: fc.array(desired, { minLength: ids.length, maxLength: ids.length }),
    path: fc.constantFrom("", "a", ...folders),
    prune: fc.boolean(),
    adopt: fc.boolean(),
    takesOver: fc.boolean(),
    maxBatch: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ isOther, isCrowded, topics, path, takesOver, prune, adopt, maxBatch, ...one }) => {
    const [set, other] = isOther ? ["other", "noc"] : ["noc", "other"];
    const used = new Set(topics);
    const all = topics.map((id, at): DesiredTopic => {
      const { renamedFrom, isProtected, hasDefinition, namespace, owner, ...more } =
        one.desired[at] ?? assert.fail();
      const isFree = renamedFrom !== undefined && !used.has(renamedFrom);
      if (isFree) used.add(renamedFrom);
      return {
        ...{ externalId: id, ...more, renamedFrom: isFree ? renamedFrom : undefined },
        definition: hasDefinition
          ? toDefinition(id, one.names[isCrowded ? at >> 1 : at] ?? "", namespace)
          : undefined,
        details: { ...noDetails, owner, protected: isProtected },
      };
    });
    const takeOver = takesOver ? other : undefined;
    return {
      ...{ kind: "run", set, maxBatch, paths: [path], options: { prune, adopt, takeOver } },
      all: all.filter((topic) => isIn(topic.path, [path])),
    };
  });

/** What others do to the topics. */
const foreignSteps = fc.record({
  kind: fc.constantFrom("announce", "tombstone", "create", "change", "disable", "enable", "describe"),
  id: fc.constantFrom(...ids),
  as: fc.constantFrom(...ids),
  name: fc.constantFrom(...names),
  namespace: fc.constantFrom(...namespaces),
});
type ForeignStep = typeof foreignSteps extends fc.Arbitrary<infer T> ? T : never;

const byChannel: Source = { kind: "announcement", topic: "channel", partition: 2, offset: 17 };

/** Makes the change of somebody else, if it is possible. */
async function doForeign(world: World, { kind, id, as, name, namespace }: ForeignStep): Promise<void> {
  const { table, topics } = world;
  const definition = toDefinition(kind === "change" ? as : id, name, namespace);
  const { topics: before, details } = world.read();
  const topic = before.get(id);
  if (kind === "announce" || kind === "tombstone") {
    if (kind === "announce" && topic === undefined) {
      await topics.create(definition, "ann").catch(() => undefined);
      table.topics = table.topics.map((one) => (one.externalId === id ? { ...one, source: byChannel } : one));
    } else if (topic?.source.kind === "announcement") {
      const others = table.topics.filter((one) => one !== topic);
      const isTaken = others.some((one) => getCombination(one) === getCombination(definition));
      const next = { ...topic, ...definition, version: topic.version + 1 };
      if (kind === "tombstone") table.topics = others;
      else if (!isTaken) table.topics = [...others, next];
    }
    return;
  }
  if (kind === "describe") {
    const current = details.get(id);
    if (topic === undefined && current === undefined) return;
    const described = { ...(current ?? noDetails), owner: name };
    world.putDetails(
      toNextDetails(current, {
        ...{ topic: topic ?? { ...definition, namespace: current?.namespace ?? "" }, details: described },
        ...{ by: "bob", at: new Date("2026-02-01") },
      }),
    );
    return;
  }
  const change: DefinitionChange =
    kind === "create"
      ? { kind, definition }
      : kind === "change"
        ? { kind, externalId: id, definition }
        : { kind, externalId: id };
  await topics.change([change], { user: "bob", check: allowAll }).catch((error: unknown) => {
    if (!(error instanceof ChangesRejectedError)) throw error;
  });
}

/** Why a topic cannot be as its file says; undefined if only its combination could be taken. */
function findReason(
  { externalId, definition }: DesiredTopic,
  id: string,
  { topics, details }: StoredState,
  { set, options: { adopt, takeOver } }: Run,
): string | undefined {
  const [topic, owner] = [topics.get(id), details.get(id)?.membership?.set];
  for (const one of [owner, details.get(externalId)?.membership?.set])
    if (one !== undefined && one !== set && one !== takeOver) return "OWNED_BY_SET";
  if (topic === undefined) return definition === undefined && owner !== set ? "UNKNOWN_TOPIC" : undefined;
  if (topic.source.kind === "announcement") {
    const isSame = definition === undefined || isSameDefinition(topic, definition);
    return isSame && id === externalId ? undefined : "EXTERNAL_ID_TAKEN";
  }
  if (definition === undefined) return "DEFINITION_MISSING";
  return owner === undefined && !adopt ? "NOT_IN_SET" : undefined;
}

/** The topic that has the external id, or else the one that is renamed to it. */
const findFormer = ({ externalId, renamedFrom }: DesiredTopic, { topics }: StoredState): string =>
  renamedFrom !== undefined && !topics.has(externalId) && topics.has(renamedFrom) ? renamedFrom : externalId;

const pick = ({ topics, details }: StoredState, id: string) => [topics.get(id), details.get(id)];

/** Compares what is stored before and after an apply with its files. */
function checkStored(run: Run, result: PlanResult, before: StoredState, after: StoredState): void {
  const { set, all, paths, options } = run;
  const blocked = new Map(result.blocked.map(({ externalId, code }) => [externalId, code]));
  const wanted = all.filter(({ isDraft }) => !isDraft);
  const named = new Set(wanted.flatMap((one) => [one.externalId, findFormer(one, before)]));
  for (const one of wanted) {
    const { externalId, definition, details, path } = one;
    const former = findFormer(one, before);
    const reason = findReason(one, former, before, run);
    const code = blocked.get(externalId);
    if (code === undefined) {
      assert.equal(reason, undefined, `${externalId} must be blocked`);
      const [topic, described] = [after.topics.get(externalId), after.details.get(externalId)];
      if (definition !== undefined) assert.partialDeepStrictEqual(topic, definition);
      assert.equal(described && formatDetails(described), formatDetails(details));
      assert.partialDeepStrictEqual(described?.membership, { set, path });
      assert.equal(topic?.id, before.topics.get(former)?.id ?? topic?.id);
      if (former !== externalId) assert.deepEqual(pick(after, former), [undefined, undefined]);
      continue;
    }
    assert.equal(code, reason ?? "DUPLICATE_COMBINATION");
    for (const id of [externalId, former]) assert.deepEqual(pick(after, id), pick(before, id));
    if (reason !== undefined) continue;
    const isHeld = [...after.topics.values()].some(
      (other) =>
        other.externalId !== former &&
        definition !== undefined &&
        getCombination(other) === getCombination(definition),
    );
    assert.ok(isHeld, `${externalId} is blocked for a combination that is free`);
  }
  const left: Record<"orphaned" | "unread", string[]> = { orphaned: [], unread: [] };
  for (const id of new Set([...before.details.keys(), ...before.topics.keys(), ...after.topics.keys()])) {
    if (named.has(id)) continue;
    const [topic, details] = [before.topics.get(id), before.details.get(id)];
    const isMember = details?.membership?.set === set && topic !== undefined;
    const isDraft = all.some(({ externalId }) => externalId === id);
    const isRead = isIn(details?.membership?.path ?? "", paths);
    if (isMember && (isDraft || (isRead && options.prune))) {
      if (topic.source.kind !== "announcement" && details.protected)
        assert.equal(blocked.get(id), "PROTECTED");
      else {
        const isReleased = topic.source.kind === "announcement";
        assert.deepEqual(after.topics.get(id), isReleased ? topic : undefined);
        const left = after.details.get(id);
        assert.equal(left?.membership, undefined);
        assert.equal(left && formatDetails(left), formatDetails(details));
        continue;
      }
    } else if (isMember) left[isRead ? "orphaned" : "unread"].push(id);
    assert.deepEqual(pick(after, id), pick(before, id), `${id} is none of the plan's topics`);
  }
  for (const [kind, expected] of Object.entries(left) as ["orphaned" | "unread", string[]][])
    assert.deepEqual(result[kind].map(({ externalId }) => externalId).toSorted(), expected.toSorted());
}

/** Returns undefined for a ring that is larger than a batch. */
function trySplit(changes: readonly PlannedChange[], maxBatch: number): PlannedChange[][] | undefined {
  try {
    return toBatches(changes, maxBatch);
  } catch (error) {
    assert.ok(error instanceof PlanError);
    return undefined;
  }
}

/** Plans, applies, and plans again. */
async function checkRun(world: World, run: Run, at: number): Promise<void> {
  const { set, all, paths, options, maxBatch } = run;
  const plan = () => world.plan(toDesiredSet(all, { set, paths }), options);
  const before = world.read();
  const result = await plan();
  const batches = trySplit(result.plan.changes, maxBatch) ?? toBatches(result.plan.changes);
  const applyAll = async (): Promise<number> => {
    let made = 0;
    for (const batch of batches) made += await world.apply(batch, { set, plan: `plan ${at}` });
    return made;
  };
  assert.equal(await applyAll(), result.plan.changes.length);
  const after = world.read();
  checkStored(run, result, before, after);
  const made = new Set(result.plan.changes.map((one) => one.after?.externalId));
  for (const { externalId } of await world.listDrift(set))
    assert.ok(!made.has(externalId), `${externalId} has drifted from what was just applied`);
  assert.equal(await applyAll(), 0, "repeated");
  assert.deepEqual(world.read(), after, "repeated");
  const again = await plan();
  assert.deepEqual(again.plan.changes, []);
  assert.deepEqual(toCodes(again), toCodes(result));
}

const toCodes = ({ blocked }: PlanResult): string[] =>
  blocked.map(({ externalId, code }) => `${externalId} ${code}`).toSorted();

/** Reads the drift page by page. */
async function readDrift(world: World, set: string, limit: number, among: Namespaces): Promise<Drift[]> {
  const found: Drift[] = [];
  let after: string | undefined;
  do {
    const { drift, next } = await readDriftPage(world.reader, set, { after, namespaces: among, limit });
    found.push(...drift);
    assert.ok(next === undefined || next > (after ?? ""));
    after = next;
  } while (after !== undefined);
  return found;
}

async function checkDrift(world: World): Promise<void> {
  const { topics, details } = world.read();
  for (const set of ["noc", "other"]) {
    const all = await world.listDrift(set);
    for (const limit of [1, 2, 9]) {
      assert.deepEqual(await readDrift(world, set, limit, "all"), all);
      const own = [{ namespace: "space", below: false }];
      const visible = all.filter(({ externalId }) =>
        [details.get(externalId), topics.get(externalId)].every(
          (one) => one === undefined || includesNamespace(own, one.namespace),
        ),
      );
      assert.deepEqual(await readDrift(world, set, limit, own), visible);
    }
  }
}

describe("plans and their applies", () => {
  it("change what the files say, whatever others do, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 3, arbitrary: runs }, { weight: 2, arbitrary: foreignSteps }), {
          minLength: 3,
          maxLength: 8,
        }),
        async (steps) => {
          const world = createMemorySets();
          for (const [at, step] of steps.entries()) {
            if (step.kind === "run") await checkRun(world, step, at);
            else await doForeign(world, step);
          }
          await checkDrift(world);
        },
      ),
      // `PLAN_SEED` chooses other examples.
      { numRuns: 200, seed: Number(process.env["PLAN_SEED"] ?? 1) },
    );
  });
});
