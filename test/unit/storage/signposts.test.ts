import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createSignposts, signpostIds, type Ahead } from "../../../src/storage/signposts.ts";
import { sharedStack, testDatabase } from "../../support/stack.ts";

interface Thing {
  _id: string;
  name: string;
  on: Date;
}

const { db } = testDatabase(sharedStack().mongodb);
const things = db.collection<Thing>("things");
const day = (number: number): Date => new Date(Date.UTC(2026, 0, number));

/** In the order of UTF-8's bytes, which for the last two is not that of JavaScript. */
const names = ["", "A", "a", "ab", "é", "\u{FFFD}", "😀"];
const byName = ["name"];
const byDay = ["on", "name"];

before(async () => {
  await things.insertMany(
    names.flatMap((name, i) => [
      { _id: `000${i}`, name, on: day(1 + (i % 2)) },
      // No signposts.
      { _id: `01${i}`, name: `${name}x`, on: day(1) },
      { _id: `f${i}`, name: `${name}y`, on: day(2) },
    ]),
  );
  // One that somebody else wrote has no name.
  await db.collection<{ _id: string; on: Date }>("things").insertOne({ _id: "000a", on: day(1) });
});

const signpostsOf = () => createSignposts(things, { _id: signpostIds }, { name: 1, on: 1 });

/** The places of all signposts, one after another. */
async function walk(members: readonly string[], ahead: Partial<Ahead> = {}): Promise<unknown[]> {
  const signposts = signpostsOf();
  const places: unknown[] = [];
  for (let { behind } = ahead; ;) {
    const next = await signposts.next(members, { descending: false, bounds: {}, ...ahead, behind });
    if (next === undefined) return places;
    places.push(next.place);
    behind = next.place;
  }
}

describe("the next signpost", () => {
  it("is the next in the store's own order, in both directions", async () => {
    const stored = await things
      .find({ _id: signpostIds, name: { $gte: "" } }, { sort: { name: 1 } })
      .toArray();
    assert.deepEqual(
      stored.map(({ name }) => name),
      names,
    );
    const places = names.map((name) => [name]);
    assert.deepEqual(await walk(byName), places);
    assert.deepEqual(await walk(byName, { descending: true }), places.toReversed());
  });

  it("is told by a second value where several share the first", async () => {
    const ofDay = (at: number) => names.filter((_, i) => i % 2 === at).map((name) => [day(1 + at), name]);
    assert.deepEqual(await walk(byDay), [...ofDay(0), ...ofDay(1)]);
    // Behind a time alone lie those of the next.
    assert.deepEqual(await walk(byDay, { behind: [day(1)] }), ofDay(1));
  });

  it("lies behind what was given and within the bounds", async () => {
    assert.deepEqual(await walk(byName, { behind: ["ax"] }), [["é"], ["\u{FFFD}"], ["😀"]]);
    assert.deepEqual(await walk(byName, { bounds: { $gte: "a", $lt: "b" } }), [["a"], ["ab"]]);
    assert.deepEqual(await walk(byName, { descending: true, bounds: { $gte: "a", $lt: "b" } }), [
      ["ab"],
      ["a"],
    ]);
  });

  it("is where it was for a while, though its record is gone", async () => {
    const signposts = signpostsOf();
    const first = { descending: false, behind: undefined, bounds: {} };
    const before = await signposts.next(byName, first);
    await things.deleteOne({ _id: "0000" });
    assert.deepEqual(await signposts.next(byName, first), before);
    assert.deepEqual((await signpostsOf().next(byName, first))?.place, ["A"]);
  });
});
