import assert from "node:assert/strict";
import { before, describe, test } from "node:test";

import type { Filter } from "mongodb";

import { findPage, toPrefixRange, type SortValue } from "../../../src/storage/queries.ts";
import { testDatabase } from "../../support/stack.ts";

interface Thing {
  _id: string;
  kind: string;
  name: string;
  on: Date;
}

const { db } = testDatabase();
const things = db.collection<Thing>("things");

/** 100 things; only the last sort field is unique, and names sort differently in UTF-8 and UTF-16. */
const names = ["", "A", "a", "ab", "abc", "é", "\u{FFFD}", "😀"];
const all: Thing[] = Array.from({ length: 100 }, (_, i) => ({
  _id: `id-${String((i * 7) % 100).padStart(3, "0")}`,
  kind: i % 3 === 0 ? "rare" : "usual",
  name: names[i % names.length] ?? "",
  on: new Date(Date.UTC(2026, 0, 1 + (i % 5))),
}));

before(async () => {
  await things.createIndex({ on: 1, name: 1, _id: 1 }, {}, {});
  await things.createIndex({ name: 1, _id: 1 }, {}, {});
  await things.insertMany(all);
});

async function readAll(
  sort: readonly (keyof Thing)[],
  descending: boolean,
  filter: Filter<Thing> = {},
): Promise<string[]> {
  const ids: string[] = [];
  let after: readonly SortValue[] | undefined;
  do {
    const { records, next } = await findPage(things, { filter, sort, descending, after, limit: 7 });
    assert.ok(next === undefined ? records.length <= 7 : records.length === 7);
    ids.push(...records.map(({ _id }) => _id));
    after = next;
  } while (after !== undefined);
  return ids;
}

function toSorted(sort: readonly (keyof Thing)[], chosen: readonly Thing[] = all): string[] {
  const compare = (a: string | Date, b: string | Date): number =>
    typeof a === "string" ? Buffer.compare(Buffer.from(a), Buffer.from(b as string)) : Number(a) - Number(b);
  return chosen
    .toSorted((a, b) => sort.map((field) => compare(a[field], b[field])).find((order) => order !== 0) ?? 0)
    .map(({ _id }) => _id);
}

describe("pages", () => {
  for (const sort of [["_id"], ["name", "_id"], ["on", "name", "_id"]] as const) {
    test(`return every record once in the order of ${sort.join(", ")}, in both directions`, async () => {
      assert.deepEqual(await readAll(sort, false), toSorted(sort));
      assert.deepEqual(await readAll(sort, true), toSorted(sort).reverse());
    });

    test(`narrow by other fields in the order of ${sort.join(", ")}`, async () => {
      const rare = all.filter(({ kind }) => kind === "rare");
      assert.deepEqual(await readAll(sort, false, { kind: "rare" }), toSorted(sort, rare));
    });
  }

  test("narrow by a prefix of the first sort field", async () => {
    const chosen = all.filter(({ name }) => name.startsWith("a"));
    const filter = { name: toPrefixRange("a") };
    assert.deepEqual(await readAll(["name", "_id"], false, filter), toSorted(["name", "_id"], chosen));
    assert.deepEqual(
      await readAll(["name", "_id"], true, filter),
      toSorted(["name", "_id"], chosen).reverse(),
    );
  });

  test("end exactly at the last record", async () => {
    const page = await findPage(things, { filter: {}, sort: ["_id"], after: undefined, limit: 100 });
    assert.equal(page.records.length, 100);
    assert.equal(page.next, undefined);
  });
});
