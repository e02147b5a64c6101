import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { UnavailableError } from "../../../src/lib/errors.ts";
import type { PlanAction, PlannedChange } from "../../../src/plans/plan.ts";
import { addReaders, type EgressReader } from "../../../src/plans/readers.ts";
import { noDetails } from "../../../src/topics/details.ts";
import { createDefinition } from "../topics/model.ts";

const state = (externalId: string, name: string) => ({
  ...{ externalId, details: noDetails, definition: createDefinition(externalId, name) },
});

const change = (action: PlanAction, before: string, after?: string): PlannedChange => ({
  ...{ action, externalId: "a", detailsVersion: 0, warnings: [], notes: [] },
  expects: { id: "1", version: 1, digest: "" },
  before: state("a", before),
  after: after === undefined ? undefined : state("a", after),
});

const reader = (group: string, more: Partial<EgressReader> = {}): EgressReader => ({
  ...{ group, state: "stable", members: 2, lag: 7 },
  ...more,
});

/** The note or the message that a change gets. */
async function add(planned: PlannedChange, readers: readonly EgressReader[] | Error, evenIfRead = false) {
  const findReaders = () => (readers instanceof Error ? Promise.reject(readers) : Promise.resolve([readers]));
  const [added] = await addReaders([planned], { findReaders, evenIfRead });
  assert.ok(added !== undefined);
  return "code" in added ? `${added.code}: ${added.message}` : added.notes;
}

describe("the readers of topics in a plan", () => {
  it("are listed for each change of a definition", async () => {
    const some = [
      reader("one"),
      reader("two", { state: "stopped", members: 0, lag: undefined }),
      reader("three", { state: "unknown", members: undefined }),
    ];
    const text = "one (2 members, lag 7), two (0 members, lag unknown), three (members unknown, lag 7)";
    assert.deepEqual(await add(change("change", "x", "y"), some), [`read by: ${text}`]);
    assert.deepEqual(await add(change("describe", "x", "x"), some), []);
    assert.deepEqual(await add(change("release", "x"), some), []);
    const many = Array.from({ length: 7 }, (_, at) => reader(String(at)));
    assert.match(String(await add(change("change", "x", "y"), many)), /4 \(2 members, lag 7\), and 2 more$/);
  });

  it("block disabling a topic, unless none of them is running or it does not matter", async () => {
    const disable = change("disable", "x");
    assert.equal(
      await add(disable, [reader("g", { members: 1 })]),
      "HAS_CONSUMERS: is read by g (1 member, lag 7); with --even-if-read it is disabled",
    );
    assert.match(String(await add(disable, [reader("g", { state: "unknown" })])), /^HAS_CONSUMERS/);
    assert.match(String(await add(disable, [reader("g", { state: "stopped" })])), /^read by/);
    assert.match(String(await add(disable, [reader("g")], true)), /^read by/);
    assert.deepEqual(await add(disable, []), []);
  });

  it("must be known to disable a topic, and are a note otherwise", async () => {
    const down = new UnavailableError("Kafka is down");
    const unknown = ["who reads it is unknown: Kafka is down"];
    await assert.rejects(add(change("disable", "x"), down), down);
    assert.deepEqual(await add(change("disable", "x"), down, true), unknown);
    assert.deepEqual(await add(change("change", "x", "y"), down), unknown);
    await assert.rejects(add(change("change", "x", "y"), new Error("a fault")), /a fault/);
  });
});
