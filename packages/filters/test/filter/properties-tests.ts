import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { canonicalize } from "../../filter/canonical.ts";
import { FilterSyntaxError, type Condition, type Filter } from "../../filter/filter.ts";
import { createValueTest, isNumber, printScalar } from "../../filter/match.ts";
import { parseFilter } from "../../filter/parse.ts";
import { printFilter } from "../../filter/to-text.ts";
import { findFilterFaults, matches, readFilters } from "../../filter/topic-filters.ts";
import { explain } from "../../picker/explain.ts";
import { createPicker } from "../../picker/index.ts";
import { createSingleValue, createValueList, prepareForLists } from "../../implication/value-list.ts";
import {
  eventRecords,
  events as eventsOfSmallNames,
  filters,
  topicFilters,
  wildFilters,
} from "./arbitraries.ts";
import { satisfiesAll } from "./model.ts";
import type { Runs } from "../../../../test/support/runs.ts";

const matchesHeader = (filter: Filter, event: unknown): boolean =>
  matches(readFilters({ headerQuery: printFilter(filter) }), event);

/** Every event with up to three of the values at `a`, and one or none at `b`. */
const small = ["1", "2", "3", "x"];
const pairs = small.flatMap((first) => small.map((second) => [first, second]));
const smallEvents = [
  undefined,
  ...pairs,
  ...pairs.flatMap((pair) => small.map((third) => [...pair, third])),
].flatMap((a) => [undefined, ...small].map((b) => ({ a, b })));

const valueSubsets = fc.uniqueArray(fc.constantFrom("1", "2", "3"), { minLength: 1, maxLength: 2 });
const smallFilters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(
    fc.oneof(
      fc.record({ path: fc.constant(["a"]), operator: fc.constantFrom("eq", "ne"), values: valueSubsets }),
      fc.record({ path: fc.constant(["b"]), operator: fc.constant("eq"), values: valueSubsets }),
    ),
    { maxLength: 3 },
  ),
});

export function testFilterProperties(runs: Runs): void {
  describe("a filter", () => {
    it("is parsed to the same tree after it was printed", () => {
      fc.assert(
        fc.property(wildFilters, (filter) => {
          const { conditions } = parseFilter(printFilter(filter));
          assert.deepEqual(
            conditions,
            filter.conditions.map((condition) => ({ ...condition })),
          );
        }),
        { numRuns: runs(2_000) },
      );
    });

    it("matches the same events in its canonical form, which is idempotent", () => {
      fc.assert(
        fc.property(
          filters,
          fc.array(eventsOfSmallNames, { minLength: 5, maxLength: 5 }),
          (filter, given) => {
            const form = canonicalize(filter);
            for (const event of given) assert.equal(matchesHeader(form, event), matchesHeader(filter, event));
            assert.deepEqual(canonicalize(form), form);
          },
        ),
        { numRuns: runs(2_000) },
      );
    });

    it("shares its canonical form with another exactly if both match the same events", () => {
      fc.assert(
        fc.property(smallFilters, smallFilters, (one, other) => {
          const [first, second] = [one, other].map((filter) =>
            readFilters({ headerQuery: printFilter(filter) }),
          );
          const same = smallEvents.every(
            (event) => matches(first ?? [], event) === matches(second ?? [], event),
          );
          assert.equal(printFilter(canonicalize(one)) === printFilter(canonicalize(other)), same);
        }),
        { numRuns: runs(3_000) },
      );
    });

    it("is accepted, or rejected with a position, for any text", () => {
      const pieces = fc.constantFrom(
        "a",
        "b",
        ".",
        "=",
        "&",
        ",",
        ";",
        "<",
        ">",
        "!",
        "%",
        "?",
        "0",
        " ",
        "\t",
        "%41",
        "%2",
        "gt",
        ".gt=",
        "$",
        "$key",
        "*",
        "~",
        "(",
        ".like=",
        ".regex=",
        ".exists=true",
        "😀",
        "\u0000",
        "\ud800",
      );
      const text = fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(pieces, { maxLength: 30 }).map((all) => all.join("")),
      );
      fc.assert(
        fc.property(text, (given) => {
          try {
            assert.deepEqual(parseFilter(printFilter(parseFilter(given))), parseFilter(given));
          } catch (error) {
            assert.ok(error instanceof FilterSyntaxError, String(error));
            assert.ok(error.position >= 0 && error.position <= given.length);
          }
        }),
        { numRuns: runs(20_000) },
      );
    });

    it("is accepted or rejected for the longest hostile texts", () => {
      const pieces = ["a", "=", "&", ",", ".", "%41", "%", " ", "a=1&", "a.", "a=1,", "!", "%C3"];
      for (const piece of pieces) {
        for (const start of ["", "a=", "a"]) {
          const text = (start + piece.repeat(8_000)).slice(0, 8_000);
          try {
            parseFilter(text);
          } catch (error) {
            assert.ok(error instanceof FilterSyntaxError, String(error));
          }
        }
      }
    });

    it("is rejected with its member and position", () => {
      assert.deepEqual(findFilterFaults({ headerQuery: "a=1&", contentQuery: "b" }), [
        { path: "/headerQuery", message: 'has no condition here; expected "name=value", at character 5' },
        {
          path: "/contentQuery",
          message: 'has no operator after "b"; expected =, !=, >, >=, < or <=, at character 2',
        },
      ]);
      assert.deepEqual(findFilterFaults({}), []);
    });
  });

  describe("a contentQuery", () => {
    const twoWays = fc.record({
      conditions: filters.map(({ conditions }) => conditions),
      /** Which names begin with `event.` in each of the two texts. */
      long: fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 4, maxLength: 4 }),
    });

    it("has the same meaning if names begin with event.", () => {
      fc.assert(
        fc.property(
          twoWays,
          fc.array(eventsOfSmallNames, { minLength: 5 }),
          ({ conditions, long }, given) => {
            const format = (way: 0 | 1): string =>
              printFilter({
                conditions: conditions.map((condition, at) => ({
                  ...condition,
                  path:
                    long[at]?.[way] || needsRoot(condition) ? ["event", ...condition.path] : condition.path,
                })),
              });
            const [first, second] = [format(0), format(1)];
            for (const event of given) {
              const expected = matchesPlainly(conditions, event);
              for (const contentQuery of [first, second]) {
                const read = readFilters({ contentQuery });
                assert.equal(matches(read, event), expected);
                assert.equal(
                  explain(read, event).every(({ held }) => held),
                  expected,
                );
                const picker = createPicker();
                picker.set("topic", { contentQuery });
                assert.equal(picker.pick(event).length === 1, expected);
                const canonicalText = printFilter(canonicalize(parseFilter(contentQuery, "contentQuery")));
                assert.equal(matches(readFilters({ contentQuery: canonicalText }), event), expected);
              }
            }
            const [one, other] = [first, second].map((text) => parseFilter(text, "contentQuery"));
            assert.deepEqual(one, other);
            assert.deepEqual(parseFilter(printFilter(one ?? { conditions: [] }), "contentQuery"), one);
          },
        ),
        { numRuns: runs(1_000) },
      );
    });

    /** Without the prefix, its own first name would count as the prefix. */
    const needsRoot = ({ path }: Condition): boolean => path[0] === "event" && path.length > 1;

    const matchesPlainly = (conditions: readonly Condition[], event: unknown): boolean =>
      satisfiesAll(
        conditions.map((condition) => ({ ...condition, path: ["event", ...condition.path] })),
        event,
      );
  });

  describe("the two filters of a topic", () => {
    it("mean what the model says, evaluated one by one, explained and picked for", () => {
      fc.assert(
        fc.property(
          topicFilters,
          fc.array(fc.tuple(eventsOfSmallNames, eventRecords), { minLength: 5, maxLength: 5 }),
          (texts, given) => {
            const conditions = readFilters(texts);
            const picker = createPicker();
            picker.set("topic", texts);
            for (const [event, record] of given) {
              const expected = satisfiesAll(conditions, event, record);
              assert.equal(matches(conditions, event, record), expected);
              assert.equal(
                explain(conditions, event, record).every(({ held }) => held),
                expected,
              );
              assert.equal(picker.pick(event, record).length === 1, expected);
            }
          },
        ),
        { numRuns: runs(5_000) },
      );
    });
  });

  describe("a condition", () => {
    const anyValue = fc.oneof(
      fc.constantFrom("1", "9", "10", "10.0", "-2.5", "1e2", "010", "", "x", "10x", "\u{1f600}", "\uffff"),
      fc.constantFrom(
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00.5+01:00",
        "2026-03-01T11:30:00Z",
        "2026-03-01",
      ),
      fc.integer({ min: -20, max: 20 }).map(String),
    );
    const listOperators = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;

    it("holds for a list exactly if it holds for one of its values", () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...listOperators),
          fc.array(anyValue, { minLength: 1, maxLength: 3 }),
          fc.array(fc.oneof(anyValue, fc.constantFrom(1, 10, 100, -2.5, true)), { maxLength: 8 }),
          (operator, values, scalars) => {
            const condition = {
              operator,
              values: operator === "eq" || operator === "ne" ? values : values.slice(0, 1),
            };
            const prepared = prepareForLists(condition);
            const valueTest = createValueTest(condition);
            const test = (value: string | number | boolean): boolean =>
              valueTest(printScalar(value), isNumber(value));
            assert.equal(createValueList(scalars).some(prepared), scalars.some(test));
            for (const one of scalars) assert.equal(createSingleValue(one).some(prepared), test(one));
          },
        ),
        { numRuns: runs(5_000) },
      );
    });
  });
}
