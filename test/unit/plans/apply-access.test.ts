/** Applies by callers who may change one namespace, of topics and sets that have something of another one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { PlanError, RejectionError } from "@topicsync/lib/errors";
import { createApply } from "../../../src/plans/apply.ts";
import type { ApplyAccess } from "../../../src/plans/apply-access.ts";
import { digestDefinition } from "../../../src/plans/desired.ts";
import { toPlannedState, type PlannedChange, type PlannedState } from "../../../src/plans/plan.ts";
import { noDetails, toNextDetails, type StoredDetails } from "../../../src/topics/details/details.ts";
import {
  toDefinition as pickDefinition,
  type Topic,
  type TopicDefinition,
} from "../../../src/topics/topic.ts";
import { createDefinition } from "../topics/model.ts";
import { createMemorySets } from "./memory-sets.ts";

const [own, foreign] = ["own", "foreign"];

const toDefinition = (externalId: string, namespace: string): TopicDefinition => ({
  ...createDefinition(externalId),
  namespace,
});

const toState = (definition: TopicDefinition, owner = ""): PlannedState =>
  toPlannedState({
    ...{ externalId: definition.externalId, definition: pickDefinition(definition), path: "a.yaml" },
    details: { ...noDetails, owner },
  });

/** Of a topic whose definition is the channel's. */
const toDescribed = (externalId: string, owner = ""): PlannedState =>
  toPlannedState({ externalId, path: "a.yaml", details: { ...noDetails, owner } });

const toExpected = (topic: Topic): PlannedChange["expects"] => ({
  ...{ id: topic.id, version: topic.version, digest: digestDefinition(topic) },
});

const toChange = (
  action: PlannedChange["action"],
  externalId: string,
  more: Partial<PlannedChange> = {},
): PlannedChange => ({
  ...{ action, externalId, expects: null, detailsVersion: 0, warnings: [], notes: [], ...more },
});

const requireNamespace = ({ namespace }: Pick<TopicDefinition, "namespace">): void => {
  if (namespace !== own) throw new Error("not allowed");
};
const access: ApplyAccess = {
  canChange: (namespace) => namespace === own,
  check: requireNamespace,
  checkDefinition: requireNamespace,
};
const refused = /^Error: not allowed$/;

/** An active topic, and details of its external id that somebody has left in the other namespace. */
async function createScene() {
  const world = createMemorySets();
  const create = async (externalId: string, namespace: string): Promise<Topic> =>
    (await world.topics.create(toDefinition(externalId, namespace), "ann")).topic;
  const leave = (externalId: string, set = "noc"): StoredDetails => {
    const left = toNextDetails(undefined, {
      ...{ topic: toDefinition(externalId, foreign), details: { ...noDetails, owner: "secret" } },
      ...{ membership: { set, path: "secret.yaml" }, by: "bob", at: new Date("2026-01-01") },
    });
    world.putDetails(left);
    return left;
  };
  return { ...world, create, leave, topic: await create("a", own), left: leave("a") };
}

describe("details that another topic left in a foreign namespace", () => {
  it("stay as they are, whatever ends", async () => {
    for (const action of ["disable", "release"] as const) {
      const { applyBatch, read, topic, left } = await createScene();
      const change = toChange(action, "a", { expects: toExpected(topic), detailsVersion: left.version });
      await applyBatch([change], { access });
      assert.deepEqual(read().details.get("a"), left);
      assert.equal(read().topics.has("a"), action === "release");
    }
  });

  it("stay in their namespace when somebody with every right ends their membership", async () => {
    const { apply, read, topic } = await createScene();
    await apply([toChange("disable", "a", { expects: toExpected(topic), detailsVersion: 1 })]);
    assert.partialDeepStrictEqual(read().details.get("a"), {
      ...{ namespace: foreign, owner: "secret", membership: undefined, version: 2 },
    });
  });

  it("are replaced by those of a new topic, and nothing else", async () => {
    const { apply, read, leave } = await createScene();
    leave("b");
    const before = read();
    for (const change of [toChange("describe", "b", { after: toDescribed("b") }), toChange("release", "b")])
      await assert.rejects(apply([change], { access }), refused);
    assert.deepEqual(read(), before);
    await apply([toChange("create", "b", { after: toState(toDefinition("b", own), "me") })], { access });
    assert.partialDeepStrictEqual(read().details.get("b"), { namespace: own, owner: "me", version: 2 });
  });

  it("are not taken for what a renamed topic had before", async () => {
    const { apply, read, leave, topic } = await createScene();
    const left = leave("b");
    const after = toDefinition("c", own);
    await apply([toChange("create", "c", { after: toState(after) })], { access });
    // The plan seems to have renamed it already.
    const resumed = toChange("rename", "b", { expects: toExpected(topic), after: toState(after, "me") });
    assert.equal(await apply([resumed], { access }), 1);
    assert.deepEqual(read().details.get("b"), left);
    assert.equal(read().details.get("c")?.owner, "me");
  });

  it("tell their version alone, and not whether they are guessed", async () => {
    const { applyBatch, apply, topic, left, read } = await createScene();
    const after: PlannedState = { ...toState(topic, left.owner), path: "secret.yaml" };
    const adopt = { expects: toExpected(topic), after };
    await assert.rejects(apply([toChange("adopt", "a", adopt)], { access }), (error: unknown) => {
      assert.ok(error instanceof PlanError);
      assert.match(error.message, /^the details of "a" have version 1, not 0\.\n/);
      return true;
    });
    const { applied } = await applyBatch([toChange("adopt", "a", { ...adopt, detailsVersion: 1 })], {
      access,
    });
    assert.equal(applied, 1);
    assert.partialDeepStrictEqual(read().details.get("a"), { namespace: own, changedBy: "ann" });
  });
});

describe("a change that no plan has", () => {
  it("is refused, and stores nothing", async () => {
    const { apply, read, topic } = await createScene();
    const same = toState(topic);
    const other = toState(toDefinition("b", own));
    const expects = toExpected(topic);
    const described = toDescribed("b");
    const cases: [change: PlannedChange, path: string][] = [
      [toChange("describe", "a", { expects, after: described }), "/changes/0/after/externalId"],
      [toChange("adopt", "nothing", { after: described }), "/changes/0/expects"],
      [toChange("create", "c", { after: other }), "/changes/0/after/externalId"],
      [toChange("create", "a", { expects, after: same }), "/changes/0/expects"],
      [toChange("create", "b", { after: described }), "/changes/0/after/name"],
      [toChange("change", "a", { after: same }), "/changes/0/expects"],
      [toChange("disable", "nothing"), "/changes/0/expects"],
      [toChange("disable", "a", { expects, after: same }), "/changes/0/after"],
      [toChange("describe", "a", { expects }), "/changes/0/after"],
      [
        toChange("describe", "a", {
          expects,
          after: { ...toState(topic), replacedBy: "a" },
        }),
        "/changes/0/after/replacedBy",
      ],
    ];
    const before = read();
    for (const [change, path] of cases)
      await assert.rejects(apply([change]), (error: unknown) => {
        assert.ok(error instanceof RejectionError, String(error));
        assert.equal(error.code, "SCHEMA_VIOLATION");
        assert.ok(
          error.details.some((one) => one.path === path),
          `${path}: ${JSON.stringify(error.details)}`,
        );
        return true;
      });
    const unknown = toChange("describe", "b", { after: described });
    await assert.rejects(apply([unknown]), /^PlanError: "b" does not exist\.\n/);
    assert.deepEqual(read(), before);
  });
});

describe("the audit events of an apply", () => {
  it("are one for each change that is stored, also of details without a topic", async () => {
    const { applyBatch, table, create, topic, read } = await createScene();
    const other = await create("b", own);
    const adopt = [topic, other].map((one, at) =>
      toChange("adopt", one.externalId, {
        ...{ expects: toExpected(one), detailsVersion: 1 - at, after: toState(one) },
      }),
    );
    const { events } = await applyBatch(adopt);
    assert.deepEqual(
      events.map((event) => "id" in event && [event.action, event.id]),
      [topic, other].map(({ id }) => ["topic.described", id]),
    );
    table.topics = table.topics.filter(({ id }) => id !== other.id);
    const described = toDescribed("b", "me");
    const last = await applyBatch([toChange("describe", "b", { after: described, detailsVersion: 1 })]);
    assert.equal(read().details.get("b")?.owner, "me");
    assert.deepEqual(last.events, [{ action: "topic.described", externalId: "b", id: "" }]);
  });
});

describe("a set", () => {
  const create = (externalId: string, namespace: string): PlannedChange =>
    toChange("create", externalId, { after: toState(toDefinition(externalId, namespace)) });

  it("of foreign topics alone takes none of others, and its repository is named by those who may change all", async () => {
    const { apply, stores, read } = await createScene();
    await apply([create("1", foreign)], { set: "theirs" });
    await apply([create("2", foreign), create("3", own)], { set: "both" });
    const before = read();
    await assert.rejects(apply([create("4", own)], { set: "theirs", access }), refused);
    await assert.rejects(apply([create("4", own)], { set: "both", origin: "mine", access }), refused);
    // Nothing is told before, such as that a topic exists.
    await assert.rejects(apply([create("a", own)], { set: "theirs", access }), refused);
    // It may be created after it was looked up.
    const absent = { ...stores.sets, find: () => Promise.resolve(undefined) };
    const batch = { database: "database", set: "theirs" };
    const applyLate = createApply({ ...stores, sets: absent });
    const changes = [create("4", own)];
    await assert.rejects(
      applyLate({ ...batch, plan: "p", total: 1, changes }, { user: "ann", access }),
      refused,
    );
    assert.deepEqual(read(), before);
    assert.equal(await apply([create("4", own)], { set: "both", access }), 1);
    assert.equal(await apply([create("5", own)], { set: "mine", access }), 1);
    assert.equal(await apply([create("6", own)], { set: "mine", origin: "mine", access }), 1);
    assert.deepEqual((await stores.sets.find("mine"))?.view.origin, "mine");
  });
});
