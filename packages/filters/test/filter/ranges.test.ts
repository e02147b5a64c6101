import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import type { Condition } from "../../filter/filter.ts";
import { Ranges, toRange } from "../../filter/ranges.ts";
import { satisfiesAll } from "./model.ts";

const operand = fc.constantFrom(
  ..."-1,0,1,2,2.5,10,1e2,9007199254740993,9007199254740992,1e400".split(","),
  ..."2026-01-01,2026-01-01T00:00:00.1Z,2026-01-01T00:00:00.2Z,2026-01-02T01:00:00+02:00".split(","),
  ..."a,ab,abcd,abce,\ud83d\ude00,\uffff,Z, ".split(","),
);
const comparison: fc.Arbitrary<Condition> = fc.record({
  path: fc.constant(["a"]),
  operator: fc.constantFrom("gt", "gte", "lt", "lte"),
  values: operand.map((value) => [value]),
});
const comparisons = fc.array(comparison, { minLength: 1, maxLength: 3 });

const between = (lower: string, upper: string): Condition[] => [
  { path: ["a"], operator: "gte", values: [lower] },
  { path: ["a"], operator: "lt", values: [upper] },
];

function find(ranges: Ranges, values: readonly string[]): number[] {
  for (const value of values) ranges.addValue(value);
  const found: number[] = [];
  ranges.find((number) => found.push(number));
  return found;
}

describe("the ranges of a path", () => {
  it("finds each whose comparisons the values satisfy, once, after any changes", () => {
    const changes = fc.array(fc.oneof({ weight: 3, arbitrary: comparisons }, fc.nat({ max: 80 })), {
      maxLength: 120,
      size: "max",
    });
    fc.assert(
      fc.property(changes, fc.array(fc.array(operand, { minLength: 1, maxLength: 3 })), (steps, events) => {
        const ranges = new Ranges();
        const inUse: { number: number; conditions: readonly Condition[] }[] = [];
        for (const step of steps) {
          if (typeof step === "object") {
            inUse.push({ number: ranges.acquire(toRange(step)), conditions: step });
            continue;
          }
          const [removed] = inUse.splice(step % (inUse.length + 1), 1);
          if (removed !== undefined) ranges.release(removed.number);
        }
        for (const values of events) {
          const found = find(ranges, values);
          assert.equal(new Set(found).size, found.length);
          const numbers = new Set(inUse.map(({ number }) => number));
          assert.ok(
            found.every((number) => numbers.has(number)),
            "a range was removed",
          );
          for (const { number, conditions } of inUse)
            if (satisfiesAll(conditions, { a: values })) assert.ok(found.includes(number));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("finds no others, if the values are of the ranges' kind and a few characters tell them apart", () => {
    const day = (i: number): string => new Date(Date.UTC(2020, 0, i)).toISOString();
    const letters = (i: number): string =>
      String.fromCharCode(...[676, 26, 1].map((place) => 97 + (Math.trunc(i / place) % 26)));
    for (const toOperand of [String, day, letters]) {
      const ranges = new Ranges();
      const numbers = Array.from({ length: 10_000 }, (_, i) =>
        ranges.acquire(toRange(between(toOperand(i), toOperand(i + 1)))),
      );
      const found = find(ranges, [toOperand(5_000)]);
      assert.deepEqual(
        found.sort((a, b) => a - b),
        // Only numbers have exact bounds.
        numbers.slice(toOperand === String ? 5_000 : 4_999, 5_001),
      );
    }
  });

  it("finds those of times by times only, and says if there were none", () => {
    const ranges = new Ranges();
    const number = ranges.acquire(toRange(between("2026-01-01", "2026-02-01")));
    const open = ranges.acquire(toRange(between("2026-01-01", "2026-02-01").slice(0, 1)));
    for (const values of [["x"], ["2026-01-05 10:00"], ["7", "2026-01-05T10:00:00+0100"]]) {
      assert.deepEqual(find(ranges, values), []);
      assert.deepEqual([ranges.takeMissedTimes(), ranges.takeMissedTimes()], [true, false]);
    }
    assert.deepEqual(find(ranges, ["x", "2026-01-05"]).sort(), [number, open]);
    assert.equal(ranges.takeMissedTimes(), false);
  });

  it("finds those between whose bounds two values are", () => {
    const ranges = new Ranges();
    const number = ranges.acquire(toRange(between("5", "3")));
    assert.deepEqual(find(ranges, ["4"]), []);
    assert.deepEqual(find(ranges, ["6", "2"]), [number]);
  });
});
