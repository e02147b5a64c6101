import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  decideAdoption,
  decideChange,
  decideRelease,
  decideRemoval,
  type OwnershipOptions,
} from "../../../src/plans/decide-change.ts";
import { digestDefinition, type DesiredTopic } from "../../../src/plans/desired.ts";
import type { KnownTopicView } from "../../../schemas/topics/sets.ts";
import type { Blocked, PlannedChange } from "../../../src/plans/plan.ts";
import { toKnownView } from "../../../src/plans/view.ts";
import { noDetails, toNextDetails } from "../../../src/topics/details/details.ts";
import type { Source, Topic } from "../../../src/topics/topic.ts";
import { createDesired } from "./memory-sets.ts";

const on = new Date("2026-01-01");
const byUser: Source = { kind: "http", user: "ann" };
const byChannel: Source = { kind: "announcement", topic: "channel", partition: 2, offset: 17 };

interface KnownOptions {
  readonly id?: string;
  readonly source?: Source | undefined;
  /** The set that it belongs to; "" for none. */
  readonly set?: string;
  readonly path?: string;
  readonly name?: string;
  readonly owner?: string;
  readonly isProtected?: boolean;
}

/** A topic as `createDesired` wants it, unless something else is given. */
function createKnown(options: KnownOptions = {}): KnownTopicView {
  const { id = "a", set = "noc", path = "a.yaml", name = "a", owner = "", isProtected = false } = options;
  const source = "source" in options ? options.source : byUser;
  const definition = createDesired(id, { name }).definition ?? assert.fail();
  const topic: Topic | undefined = source && {
    ...definition,
    id: "1",
    version: 3,
    source,
    createdOn: on,
    updatedOn: on,
  };
  const details = toNextDetails(undefined, {
    ...{ topic: definition, by: "ann", at: on, details: { ...noDetails, owner, protected: isProtected } },
    membership: set === "" ? null : { set, path, applied: { version: 3, digest: "d", plan: "p", on } },
  });
  return toKnownView({ externalId: id, topic, details: set === "" ? undefined : details });
}

const noOptions: OwnershipOptions = { set: "noc", adopt: false, takeOver: undefined };
const wanted = createDesired("a");
const withoutDefinition: DesiredTopic = { ...wanted, definition: undefined };

const toCode = (decision: PlannedChange | Blocked | undefined): string =>
  decision === undefined ? "nothing" : "code" in decision ? decision.code : decision.action;
const decide = (
  desired: DesiredTopic,
  known?: KnownTopicView,
  options: Partial<OwnershipOptions> = {},
): string => toCode(decideChange(desired, known, { ...noOptions, ...options }));

describe("the change of a topic in the files", () => {
  it("creates a topic that does not exist, or does not any more", () => {
    assert.equal(decide(wanted), "create");
    assert.equal(decide(wanted, createKnown({ source: undefined })), "create");
    assert.equal(decide(withoutDefinition), "UNKNOWN_TOPIC");
    assert.equal(decide(withoutDefinition, createKnown({ source: undefined, set: "" })), "UNKNOWN_TOPIC");
  });

  it("is what differs in a member of the set: definition, details, or the path of the file", () => {
    assert.equal(decide(wanted, createKnown()), "nothing");
    assert.equal(decide(wanted, createKnown({ name: "other" })), "change");
    assert.equal(decide(wanted, createKnown({ name: "other", owner: "ran" })), "change");
    assert.equal(decide(wanted, createKnown({ owner: "ran" })), "describe");
    assert.equal(decide(wanted, createKnown({ isProtected: true })), "describe");
    assert.equal(decide(wanted, createKnown({ path: "b.yaml" })), "describe");
    assert.equal(decide(wanted, createKnown({ id: "old", name: "a" })), "rename");
    assert.equal(decide(wanted, createKnown({ id: "old", name: "other" })), "rename");
  });

  it("adopts a topic of nobody or of another set only if that is said", () => {
    const [free, foreign] = [createKnown({ set: "" }), createKnown({ set: "other" })];
    assert.equal(decide(wanted, free), "NOT_IN_SET");
    assert.equal(decide(wanted, free, { takeOver: "other" }), "NOT_IN_SET");
    assert.equal(decide(wanted, free, { adopt: true }), "adopt");
    assert.equal(decide(wanted, foreign), "OWNED_BY_SET");
    assert.equal(decide(wanted, foreign, { adopt: true, takeOver: "third" }), "OWNED_BY_SET");
    assert.equal(decide(wanted, foreign, { takeOver: "other" }), "adopt");
    const retired = createKnown({ set: "other", source: undefined });
    assert.equal(decide(wanted, retired), "OWNED_BY_SET");
    assert.equal(decide(wanted, retired, { takeOver: "other" }), "create");
    assert.match(
      JSON.stringify(decideChange(wanted, foreign, noOptions)),
      /belongs to the set \\"other\\"; with --take-over other /,
    );
  });

  it("renames no topic to what another set has described", () => {
    const [old, left] = [createKnown({ id: "old" }), createKnown({ set: "other", source: undefined })];
    assert.equal(toCode(decideChange(wanted, old, noOptions, left)), "OWNED_BY_SET");
    assert.equal(toCode(decideChange(wanted, old, { ...noOptions, takeOver: "other" }, left)), "rename");
  });

  it("leaves the definition of an announced topic to the channel", () => {
    const announced = (more: KnownOptions = {}): KnownTopicView =>
      createKnown({ source: byChannel, ...more });
    assert.equal(decide(wanted, announced({ set: "" })), "adopt");
    assert.equal(decide(wanted, announced({ owner: "ran" })), "describe");
    assert.equal(decide(withoutDefinition, announced({ owner: "ran", name: "other" })), "describe");
    assert.equal(decide(withoutDefinition, announced({ name: "other" })), "nothing");
    for (const desired of [wanted, withoutDefinition])
      assert.equal(decide(desired, announced({ id: "old" })), "EXTERNAL_ID_TAKEN");
    const other = decideChange(wanted, announced({ name: "other" }), noOptions);
    assert.ok(other !== undefined && "code" in other);
    assert.equal(other.code, "EXTERNAL_ID_TAKEN");
    assert.match(other.message, /was announced \(channel-2-17\) with another definition/);
    assert.equal(decide(withoutDefinition, createKnown()), "DEFINITION_MISSING");
  });

  it("says what it expects, and how the topic is before and after", () => {
    const known = createKnown({ name: "other", owner: "ran" });
    const { topic, details } = known;
    assert.ok(topic !== null && details !== null);
    const { definition } = wanted;
    assert.deepEqual(decideChange(wanted, known, noOptions), {
      ...{ action: "change", externalId: "a", detailsVersion: 1, warnings: [], notes: [] },
      expects: { id: "1", version: 3, digest: digestDefinition(topic) },
      before: {
        ...{ ...createDesired("a", { name: "other" }).definition, set: "noc", path: "a.yaml" },
        ...{ externalId: "a", owner: "ran" },
      },
      after: { externalId: "a", ...definition, path: "a.yaml", set: "noc" },
    });
    const created = decideChange(wanted, undefined, noOptions);
    assert.partialDeepStrictEqual(created, { expects: null, detailsVersion: 0 });
    assert.ok(created !== undefined && !("before" in created));
  });
});

describe("the change of a topic that is not in the files any more", () => {
  it("disables it, unless it is protected; the channel's is released", () => {
    const removal = decideRemoval(createKnown());
    assert.deepEqual([toCode(removal), "after" in removal], ["disable", false]);
    assert.equal(toCode(decideRemoval(createKnown({ isProtected: true }))), "PROTECTED");
    for (const isProtected of [false, true])
      assert.equal(toCode(decideRemoval(createKnown({ source: byChannel, isProtected }))), "release");
  });
});

describe("adopting and releasing", () => {
  it("change the set alone", () => {
    const known = createKnown({ set: "other", owner: "ran" });
    const options = { ...noOptions, takeOver: "other" };
    const adopted = decideAdoption(known, options);
    assert.ok(adopted !== undefined && !("code" in adopted));
    assert.deepEqual([adopted.action, adopted.after], ["adopt", { ...adopted.before, set: "noc" }]);
    const released = decideRelease(known);
    assert.deepEqual([released.action, "after" in released], ["release", false]);
    assert.equal(toCode(decideAdoption(known, noOptions)), "OWNED_BY_SET");
    assert.equal(toCode(decideAdoption(createKnown(), noOptions)), "nothing");
    assert.equal(toCode(decideAdoption(createKnown({ set: "" }), noOptions)), "adopt");
    assert.equal(toCode(decideAdoption(createKnown({ source: undefined }), noOptions)), "UNKNOWN_TOPIC");
  });
});
