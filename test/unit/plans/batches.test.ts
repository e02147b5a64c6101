import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { toBatches } from "../../../src/plans/batches.ts";
import type { PlannedChange, PlannedState } from "../../../src/plans/plan.ts";
import { createRandom } from "../../support/random.ts";

const toState = (externalId: string, name: string): PlannedState => ({ externalId, name });

/** A change of the topic "t<at>" from one name to another; undefined: it is created, or disabled. */
function createChange(externalId: string, from: string | undefined, to: string | undefined): PlannedChange {
  return {
    action: from === undefined ? "create" : to === undefined ? "disable" : "change",
    externalId,
    expects: null,
    detailsVersion: 0,
    ...(from !== undefined && { before: toState(externalId, from) }),
    ...(to !== undefined && { after: toState(externalId, to) }),
    warnings: [],
    notes: [],
  };
}

const toIds = (batches: readonly (readonly PlannedChange[])[]): string[][] =>
  batches.map((batch) => batch.map(({ externalId }) => externalId));

describe("the batches of a plan", () => {
  it("keep the order of changes that do not depend on each other", () => {
    const changes = Array.from({ length: 5 }, (_, at) => createChange(`t${at}`, `a${at}`, `b${at}`));
    assert.deepEqual(toIds(toBatches(changes, 2)), [["t0", "t1"], ["t2", "t3"], ["t4"]]);
  });

  it("free a combination before another topic takes it", () => {
    const changes = [
      createChange("first", "a", "b"),
      createChange("second", "b", "c"),
      createChange("third", undefined, "d"),
      createChange("fourth", "d", undefined),
    ];
    assert.deepEqual(toIds(toBatches(changes, 1)), [["second"], ["first"], ["fourth"], ["third"]]);
  });

  it("free what a renamed topic had, but nothing of one that is released", () => {
    const renamed: PlannedChange = {
      ...createChange("old", "a", "b"),
      ...{ action: "rename", after: toState("new", "b") },
    };
    const released: PlannedChange = { ...createChange("free", "b", undefined), action: "release" };
    const changes = [createChange("old", undefined, "c"), createChange("first", "d", "a"), renamed, released];
    assert.deepEqual(toBatches(changes, 1), [[renamed], [changes[0]], [changes[1]], [released]]);
  });

  it("do not separate a ring", () => {
    const ring = ["a", "b", "c"].map((name, at, all) => createChange(name, name, all[(at + 1) % 3]));
    const changes = [createChange("x", "x", "y"), createChange("z", "z", "q"), ...ring];
    assert.deepEqual(
      toBatches(changes, 3).map((batch) => batch.length),
      [2, 3],
    );
    assert.throws(() => toBatches(ring, 2), /3 topics exchange their combinations in a ring, among them "/);
  });

  it("take a chain of 20,000 topics", () => {
    const changes = Array.from({ length: 20_000 }, (_, at) => createChange(`t${at}`, `n${at}`, `n${at + 1}`));
    const batches = toBatches(changes);
    assert.equal(batches.length, 40);
    assert.equal(batches[0]?.[0]?.externalId, "t19999");
  });

  it("never hold a value twice, whatever the plan", () => {
    const plans = fc.tuple(
      fc.uniqueArray(fc.nat(14), { minLength: 1 }),
      fc.nat(),
      fc.integer({ min: 1, max: 20 }),
    );
    fc.assert(
      fc.property(plans, ([names, seed, maxSize]) => {
        const random = createRandom(seed);
        const shuffled = random.shuffle(names);
        const changes = names.map((name, at) =>
          createChange(`t${at}`, random.chance(0.1) ? undefined : `n${name}`, `n${shuffled[at]}`),
        );
        const held = new Set(changes.flatMap(({ before }) => before?.name ?? []));
        const inPlan = changes.filter(({ before, after }) => before?.name !== after?.name);
        let batches: PlannedChange[][];
        try {
          batches = toBatches(inPlan, maxSize);
        } catch {
          return;
        }
        assert.deepEqual(new Set(batches.flat()), new Set(inPlan));
        for (const batch of batches) {
          assert.ok(batch.length <= maxSize);
          for (const { before } of batch) if (before?.name !== undefined) held.delete(before.name);
          for (const { after } of batch) {
            const name = after?.name ?? "";
            assert.ok(!held.has(name), `${name} is held twice`);
            held.add(name);
          }
        }
      }),
    );
  });
});
