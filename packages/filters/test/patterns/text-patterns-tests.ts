import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { createTest, toFindablePattern, type FindablePattern } from "../../patterns/patterns.ts";
import { contains } from "../../patterns/substrings.ts";
import { TextPatterns } from "../../patterns/text-patterns.ts";
import { holds } from "../filter/model.ts";
import type { Runs } from "../../../../test/support/runs.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "😀", "\ud83d"), maxLength: 12 });
const units = ["a", "b", "😀", "\ud83d"];
const wildcards = fc.string({ unit: fc.constantFrom(...units, "*", "*", "?", "\\*"), maxLength: 9 });
const pattern: fc.Arbitrary<FindablePattern> = fc.oneof(
  fc.record({
    operator: fc.constantFrom("prefix", "suffix", "contains", "eqi"),
    value: fc.string({ unit: fc.constantFrom(...units), minLength: 1, maxLength: 6 }),
  }),
  wildcards.map((value) => toFindablePattern("like", value)).filter((one) => one !== undefined),
);

const isSatisfied = (given: string, { operator, value }: FindablePattern): boolean =>
  holds(given, operator, [value]);

export function testTextPatterns(runs: Runs): void {
  describe("the patterns of a path", () => {
    it("finds those that a text satisfies, each once, after any changes", () => {
      const changes = fc.array(fc.oneof({ weight: 3, arbitrary: pattern }, fc.nat({ max: 80 })), {
        maxLength: 120,
        size: "max",
      });
      fc.assert(
        fc.property(changes, fc.array(text, { minLength: 3, maxLength: 6 }), (steps, texts) => {
          const patterns = new TextPatterns();
          const inUse: { number: number; pattern: FindablePattern }[] = [];
          for (const step of steps) {
            if (typeof step === "object") {
              inUse.push({ number: patterns.acquire(step), pattern: step });
              continue;
            }
            const [removed] = inUse.splice(step % (inUse.length + 1), 1);
            if (removed !== undefined) patterns.release(removed.number);
          }
          for (const given of texts) {
            const found: number[] = [];
            patterns.find(given, (number) => found.push(number));
            const expected = inUse
              .filter((one) => isSatisfied(given, one.pattern))
              .map(({ number }) => number);
            assert.deepEqual(found.sort(), [...new Set(expected)].sort());
          }
        }),
        { numRuns: runs(1_000) },
      );
    });

    it("finds each of thousands of texts that one contains", () => {
      const patterns = new TextPatterns();
      const numbers = Array.from({ length: 5_000 }, (_, i) =>
        patterns.acquire({ operator: "contains", value: `<${i}>` }),
      );
      for (const number of numbers.slice(0, 2_000)) patterns.release(number);
      const found: number[] = [];
      patterns.find(Array.from({ length: 5_000 }, (_, i) => `<${i}>`).join(" "), (number) =>
        found.push(number),
      );
      assert.deepEqual(
        found.sort((a, b) => a - b),
        numbers.slice(2_000).sort((a, b) => a - b),
      );
    });
  });

  describe("a pattern that texts are found by", () => {
    it("applies to the same texts as the wildcards that it stands for", () => {
      const given = fc.string({ unit: fc.constantFrom(...units, "*", "\n"), maxLength: 12 });
      fc.assert(
        fc.property(wildcards, fc.array(given), (value, texts) => {
          const pattern = toFindablePattern("like", value);
          const test = createTest("like", value);
          for (const one of texts) {
            assert.equal(test(one), holds(one, "like", [value]));
            if (pattern !== undefined) assert.equal(isSatisfied(one, pattern), test(one));
          }
        }),
        { numRuns: runs(3_000) },
      );
    });
  });

  describe("a text in a text", () => {
    it("is found as Node finds it", () => {
      fc.assert(
        fc.property(text, fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 50 }), (part, given) => {
          const long = part.repeat(10);
          assert.equal(contains(given + long + given, long), true);
          assert.equal(contains(given, part.repeat(8)), given.includes(part.repeat(8)));
        }),
      );
    });
  });
}
