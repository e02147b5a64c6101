import assert from "node:assert/strict";
import { after, before, describe, it, mock } from "node:test";

import fc from "fast-check";

import type * as topicFilters from "../../filter/topic-filters.ts";
import type * as explanations from "../../picker/explain.ts";
import type { FilterTexts, Picker } from "../../picker/index.ts";
import { countSteps, startCountingSteps, stopCountingSteps } from "../count-steps.ts";

let createPicker: () => Picker;
/** Its `matches` is the oracle: it examines one topic. */
let oracle: typeof topicFilters;
let explain: (typeof explanations)["explain"];

/** Steps for each unit of the bound; ordinary events take one to ten. */
const maxStepsPerUnit = 30;
/** Steps that every event costs. */
const baseSteps = 500;

before(async () => {
  await startCountingSteps();
  ({ createPicker } = await import("../../picker/index.ts"));
  oracle = await import("../../filter/topic-filters.ts");
  ({ explain } = await import("../../picker/explain.ts"));
});

after(stopCountingSteps);

/** Members, list elements and values. */
function countParts(value: unknown): number {
  let parts = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    parts += 1;
    if (typeof one === "object" && one !== null) for (const part of Object.values(one)) waiting.push(part);
  }
  return parts;
}

/**
 * The size of a topic: the values of its conditions, and of its keys (at most 64, or those of one condition).
 */
function countTopicParts(filters: FilterTexts): number {
  const conditions = oracle.readFilters(filters);
  const values = conditions.reduce((sum, one) => sum + one.values.length + one.path.length, 1);
  return values + 64 * conditions.length;
}

/**
 * Picks, and compares the result with the oracle and the steps with the bound. `characters`: of the event and
 * the topics, where there are patterns, which read texts.
 */
async function pickWithinBound(
  topics: ReadonlyMap<string, FilterTexts>,
  event: unknown,
  { expected, characters = 0 }: { expected?: readonly string[]; characters?: number } = {},
): Promise<void> {
  const picker = createPicker();
  for (const [id, filters] of topics) picker.set(id, filters);
  const { result, steps } = await countSteps(() => picker.pick(event));
  const matching =
    expected ??
    [...topics]
      .filter(([, filters]) => oracle.matches(oracle.readFilters(filters), event))
      .map(([id]) => id)
      .sort();
  assert.deepEqual(result.sort(), matching);
  const units =
    characters +
    countParts(event) +
    [...topics.values()].reduce((sum, filters) => sum + countTopicParts(filters), 0);
  assert.ok(steps > 0, "no steps were counted");
  assert.ok(
    steps <= baseSteps + maxStepsPerUnit * units,
    `${steps} steps for ${units} units of event and topics`,
  );
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const toNamed = (all: readonly FilterTexts[]): Map<string, FilterTexts> =>
  new Map(all.map((filters, i) => [`topic-${i}`, filters]));
const paths = ["a", "b", "c.x", "d", "e.x", "e.y", "f", "g"];

/** Puts a list at every path; `e` is a list of objects, `c` is an object. */
const createEvent = (lists: readonly (readonly unknown[])[]): unknown => {
  const [a, b, x, d, ex = [], ey, f, g] = lists;
  return { a, b, c: { x }, d: [[d], []], e: ex.map((one, i) => ({ x: one, y: ey?.[i] ?? null })), f, g };
};

describe("the work for an event", () => {
  it("is bounded by its size and that of the topics, with any lists", async () => {
    const value = fc.integer({ min: 0, max: 120 });
    const list = fc.oneof(
      fc.uniqueArray(value, { maxLength: 100 }),
      fc.uniqueArray(value, { minLength: 60, maxLength: 100 }),
      fc.array(value, { maxLength: 100 }),
    );
    const condition = fc
      .record({
        path: fc.constantFrom(...paths),
        sign: fc.constantFrom("=", "=", "=", "=", "!=", ">", "<="),
        values: fc.uniqueArray(value, { minLength: 1, maxLength: 4 }),
      })
      .map(({ path, sign, values }) =>
        sign === "=" || sign === "!=" ? `${path}${sign}${values.join()}` : `${path}${sign}${values[0] ?? 0}`,
      );
    const filters = fc.array(condition, { minLength: 1, maxLength: 8 }).map((all) => all.join("&"));
    // Equalities of the same paths, so that groups are large and looked up by many keys.
    const alike = fc
      .record({ count: fc.integer({ min: 3, max: 8 }), size: fc.integer({ min: 1, max: 60 }) })
      .map(({ count, size }) =>
        range(size).map((i) =>
          paths
            .slice(0, count)
            .map((path) => `${path}=${i}`)
            .join("&"),
        ),
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(filters, { maxLength: 30 }),
        alike,
        fc.array(list, { minLength: 8, maxLength: 8 }),
        async (mixed, same, lists) => {
          const topics = toNamed([...mixed, ...same].map((headerQuery) => ({ headerQuery })));
          await pickWithinBound(topics, createEvent(lists));
        },
      ),
      { numRuns: 150 },
    );
  });

  it("does not multiply lists by the equalities of a topic", async () => {
    for (const count of [20, 100]) {
      const topics = toNamed(
        range(count).map((i) => ({ headerQuery: paths.map((path) => `${path}=${i}`).join("&") })),
      );
      const list = range(count);
      await pickWithinBound(topics, createEvent(paths.map(() => list)), {
        expected: [...topics.keys()].sort(),
      });
      await pickWithinBound(topics, createEvent(paths.map((path) => (path === "g" ? [] : list))), {
        expected: [],
      });
    }
  });

  it("does not copy the values of a list for each group of topics", async () => {
    const alternatives = range(200);
    const headerQueries = [`a=${alternatives.join()}`, ...range(300).map((i) => `a=0&m${i}=1`)];
    const event = { a: alternatives, ...Object.fromEntries(range(300).map((i) => [`m${i}`, 1])) };
    // The work of the Set constructor is not counted as steps, but it calls `add` for each element.
    const { mock: added } = mock.method(Set.prototype, "add");
    try {
      await pickWithinBound(toNamed(headerQueries.map((headerQuery) => ({ headerQuery }))), event);
      assert.ok(added.callCount() < 5_000, `${added.callCount()} values were copied`);
    } finally {
      added.restore();
    }
  });

  it("does not multiply the values of a list by the topics that compare them", async () => {
    const list = range(1_000);
    for (const condition of ["a>9000", "a<0", "a!=1", "a.lt=-5", "a>=x", "a<2026-01-01T00:00:00Z"]) {
      const topics = toNamed(range(300).map((i) => ({ headerQuery: `k=1&${condition}&a!=${i}` })));
      await pickWithinBound(topics, { k: 1, a: list });
      await pickWithinBound(topics, { k: 1, a: list.map((one) => [String(one)]) });
    }
  });

  it("does not multiply the texts of a list by the patterns of the topics", async () => {
    const texts = range(300).map((i) => `${"a".repeat(i % 30)}${i}`);
    const alike = range(300).map((i) => "a".repeat(1 + (i % 40)));
    for (const operator of ["prefix", "suffix", "contains", "eqi"]) {
      for (const key of ["", "k=1&"]) {
        const topics = toNamed(
          [...alike, ...texts].map((text) => ({ headerQuery: `${key}a.${operator}=${text}x,${text}` })),
        );
        const inTopics = [...topics.values()].reduce((sum, one) => sum + (one.headerQuery ?? "").length, 0);
        for (const a of [texts, "a".repeat(5_000)])
          await pickWithinBound(topics, { k: 1, a }, { characters: inTopics + [a].flat().join().length });
      }
    }
  });

  it("does not grow with topics of patterns that do not apply", async () => {
    const topics = toNamed(
      range(2_000).map((i) => ({
        headerQuery: `a.${["prefix", "suffix", "contains", "eqi"][i % 4]}=name${i}`,
      })),
    );
    const picker = createPicker();
    for (const [id, filters] of topics) picker.set(id, filters);
    const { result, steps } = await countSteps(() => picker.pick({ a: "name7 of nobody" }));
    assert.deepEqual(result, []);
    assert.ok(steps < baseSteps, `${steps} steps`);
  });

  it("does not grow with topics of ranges that the values are not in", async () => {
    const picker = createPicker();
    for (const i of range(2_000)) picker.set(`topic-${i}`, { headerQuery: `a>=${i}&a<${i + 1}` });
    const { result, steps } = await countSteps(() => picker.pick({ a: 1_234.5 }));
    assert.deepEqual(result, ["topic-1234"]);
    assert.ok(steps < baseSteps, `${steps} steps`);
  });

  it("does not multiply a list of objects by the paths through it", async () => {
    const topics = toNamed(range(400).map((i) => ({ headerQuery: `k=1&list.m${i}.n>5` })));
    await pickWithinBound(topics, { k: 1, list: range(2_000).map((i) => ({ [`m${i}`]: { n: i } })) });
  });

  it("of an explanation is bounded by its size and the conditions as well", async () => {
    const headerQuery = range(90)
      .map((i) => (i % 2 === 0 ? `list.m${i}>9000` : `a>${9_000 + i}`))
      .join("&");
    const conditions = oracle.readFilters({ headerQuery });
    const event = { a: range(3_000), list: range(3_000).map((i) => ({ [`m${i}`]: i })) };
    const { result, steps } = await countSteps(() => explain(conditions, event));
    assert.equal(result.length, 90);
    const units = countParts(event) + countTopicParts({ headerQuery });
    assert.ok(steps <= baseSteps + maxStepsPerUnit * units, `${steps} steps for ${units} units`);
  });
});
