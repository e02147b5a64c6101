import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { parseEvent } from "../../filter/numbers.ts";
import { matches, readFilters, type FilterTexts } from "../../filter/topic-filters.ts";
import { createPicker, FilterSyntaxError, type Picker } from "../../picker/index.ts";
import { events, topicFilters } from "../filter/arbitraries.ts";
import type { Runs } from "../../../../test/support/runs.ts";

/** Finds the expected topics by matching each one. */
const findExpected = (topics: ReadonlyMap<string, FilterTexts>, event: unknown): string[] =>
  [...topics]
    .filter(([, filters]) => matches(readFilters(filters), event))
    .map(([id]) => id)
    .sort();

const pickSorted = (picker: Picker, event: unknown): string[] => picker.pick(event).sort();

const ids = fc.integer({ min: 0, max: 12 }).map((number) => `topic-${number}`);
const changes = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ id: ids, filters: topicFilters }) },
    fc.record({ id: ids, filters: fc.constant(undefined) }),
  ),
  { maxLength: 40 },
);

export function testPicker(runs: Runs): void {
  describe("a picker", () => {
    it("picks the topics that match one by one, after any changes", () => {
      fc.assert(
        fc.property(changes, fc.array(events, { minLength: 1, maxLength: 8 }), (steps, given) => {
          const picker = createPicker();
          const topics = new Map<string, FilterTexts>();
          for (const { id, filters } of steps) {
            if (filters === undefined) assert.equal(picker.delete(id), topics.delete(id));
            else {
              picker.set(id, filters);
              topics.set(id, filters);
            }
          }
          assert.equal(picker.size, topics.size);
          for (const event of given) assert.deepEqual(pickSorted(picker, event), findExpected(topics, event));
        }),
        { numRuns: runs(2_000) },
      );
    });

    it("picks the same after its topics were removed and added again", () => {
      fc.assert(
        fc.property(fc.array(topicFilters, { maxLength: 20 }), fc.array(events), (all, given) => {
          const [changed, fresh] = [createPicker(), createPicker()];
          for (let round = 0; round < 3; round += 1) {
            for (const [i, filters] of all.entries()) changed.set(`topic-${i}`, all.at(-1 - i) ?? filters);
            for (const i of all.keys()) if (i % 2 === round % 2) changed.delete(`topic-${i}`);
          }
          for (const [i, filters] of all.entries()) {
            changed.set(`topic-${i}`, filters);
            fresh.set(`topic-${i}`, filters);
          }
          for (const event of given) assert.deepEqual(pickSorted(changed, event), pickSorted(fresh, event));
        }),
      );
    });

    it("grows and shrinks with many topics of one key and of many keys", () => {
      const picker = createPicker();
      const count = 2_000;
      const same = (i: number): FilterTexts => ({ headerQuery: "a=1", contentQuery: `b!=${i}` });
      const other = (i: number): FilterTexts => ({ headerQuery: `a=1,2&c=${i}` });
      for (let i = 0; i < count; i += 1) {
        picker.set(`same-${i}`, same(i));
        picker.set(`other-${i}`, other(i));
      }
      assert.equal(picker.pick({ a: 1, event: { b: 5 } }).length, count - 1);
      assert.deepEqual(picker.pick({ a: [1, 2], c: 7 }), ["other-7"]);
      for (let i = 0; i < count; i += 2) picker.delete(`same-${i}`);
      for (let i = 0; i < count; i += 1) picker.set(`other-${i}`, other(i + 1));
      assert.equal(picker.pick({ a: 1, event: { b: 5 } }).length, count / 2 - 1);
      assert.deepEqual(picker.pick({ a: 2, c: 7 }), ["other-6"]);
      for (let i = 0; i < count; i += 1) {
        picker.delete(`same-${i}`);
        picker.delete(`other-${i}`);
      }
      assert.equal(picker.size, 0);
      assert.deepEqual(picker.pick({ a: 1, c: 7, event: { b: 5 } }), []);
    });

    it("supports conditions of a thousand alternatives, also several of them", () => {
      const list = Array.from({ length: 500 }, (_, i) => i).join();
      const picker = createPicker();
      picker.set("topic", { headerQuery: `a=${list}&b=${list}` });
      assert.deepEqual(picker.pick({ a: 499, b: 0 }), ["topic"]);
      assert.deepEqual(picker.pick({ a: [1, 2, 499], b: [600, 3, 4] }), ["topic"]);
      assert.deepEqual(picker.pick({ a: 1, b: 500 }), []);
    });

    it("picks by ranges as one by one, of numbers that doubles round and of other kinds", () => {
      const numbers = [
        "0",
        "-0",
        "0.1",
        "1",
        "9007199254740992",
        "9007199254740993",
        "1e400",
        "5e-324",
        "1e-400",
      ];
      const others = ["2026-01-01", "2026-01-01T00:00:00.1Z", "a", "0a"];
      const operand = fc.constantFrom(...numbers, ...others);
      const comparison = fc.tuple(fc.constantFrom(">", ">=", "<", "<="), operand);
      const value = fc.oneof(
        fc.constantFrom(...numbers),
        operand.map((text) => JSON.stringify(text)),
      );
      fc.assert(
        fc.property(
          fc.array(fc.array(comparison, { minLength: 1, maxLength: 3 }), { maxLength: 40 }),
          fc.array(fc.array(value, { minLength: 1, maxLength: 2 })),
          (all, given) => {
            const picker = createPicker();
            const topics = new Map<string, FilterTexts>();
            for (const [i, one] of all.entries()) {
              const filters = { headerQuery: one.map(([sign, text]) => `a${sign}${text}`).join("&") };
              topics.set(`topic-${i}`, filters);
              picker.set(`topic-${i}`, filters);
            }
            for (const values of given) {
              const event = parseEvent(
                values.length === 1 ? `{"a":${values.join()}}` : `{"a":[${values.join()}]}`,
              );
              assert.deepEqual(pickSorted(picker, event), findExpected(topics, event));
            }
          },
        ),
        { numRuns: runs(1_000) },
      );
    });

    it("supports topics that each compare a different member", () => {
      const picker = createPicker();
      for (let i = 0; i < 200; i += 1) picker.set(`topic-${i}`, { contentQuery: `m${i}.n=1&all=1` });
      assert.deepEqual(picker.pick({ event: { m17: { n: 1 }, m18: { n: 2 }, all: 1 } }), ["topic-17"]);
    });

    it("keeps its topics if a filter is invalid", () => {
      const picker = createPicker();
      picker.set("topic", { headerQuery: "a=1" });
      assert.throws(() => {
        picker.set("topic", { headerQuery: "a=2", contentQuery: "b" });
      }, FilterSyntaxError);
      assert.deepEqual(picker.pick({ a: 1, event: { b: 1 } }), ["topic"]);
      assert.equal(picker.size, 1);
    });

    it("accepts any event", () => {
      const picker = createPicker();
      picker.set("everything", {});
      picker.set("some", { headerQuery: "a.b=1", contentQuery: "c!=1" });
      let nested: unknown = 1;
      for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
      for (const event of [
        null,
        undefined,
        1,
        "text",
        [],
        [[]],
        { a: nested, event: nested },
        { a: { b: nested } },
      ]) {
        assert.deepEqual(picker.pick(event), ["everything"]);
      }
      const some = { a: [{ b: nested }], event: [{ c: nested }, { c: 2 }] };
      assert.deepEqual(picker.pick(some).sort(), ["everything", "some"]);
      assert.deepEqual(picker.pick([some]), ["everything"]);
    });
  });
}
