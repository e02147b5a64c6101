import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { checkEvent } from "../../../../src/routing/event.ts";
import { hasSamePath } from "../../filter/filter.ts";
import { implies, TopicConditions, type Implication } from "../../implication/implication.ts";
import { readFilters, type FilterTexts, type RootedCondition } from "../../filter/topic-filters.ts";
import type { Witness } from "../../implication/witness.ts";
import { manyRuns, type Runs } from "../../../../test/support/runs.ts";
import { eventRecords, events, topicFilters } from "../filter/arbitraries.ts";
import { satisfiesAll } from "../filter/model.ts";

const meets = (conditions: readonly RootedCondition[], { event, record }: Witness): boolean =>
  satisfiesAll(conditions, event, record);

/** The events of which something is certain: what the router and HTTP accept. */
const validEvents: fc.Arbitrary<Witness> = fc
  .tuple(
    events,
    eventRecords,
    fc.record({ eventType: fc.constantFrom("x", "xY", "1", "3") }, { requiredKeys: [] }),
  )
  .map(([event, record, members]) => ({ event: { ...(event as object), ...members }, record }))
  .filter(({ event }) => checkEvent(event).ok);

/** Checks a verdict by the independent model. */
export function checkVerdict(
  verdict: Implication,
  [one, other]: readonly (readonly RootedCondition[])[],
  given: readonly Witness[],
): void {
  if (one === undefined || other === undefined) return;
  const conditions = new TopicConditions(one);
  if (verdict === "refuted") {
    const witnesses = new TopicConditions(other).all.flatMap(
      (against) => conditions.createWitness({ against }) ?? [],
    );
    const isRefuting = (witness: Witness): boolean => meets(one, witness) && !meets(other, witness);
    assert.ok(witnesses.some((witness) => checkEvent(witness.event).ok && isRefuting(witness)));
  }
  if (verdict !== "implied") return;
  const crafted = [false, true].flatMap((fromEnd) => conditions.createWitness({ fromEnd }) ?? []);
  for (const witness of [...given, ...crafted])
    assert.ok(!meets(one, witness) || meets(other, witness), JSON.stringify(witness));
}

/** Within one filter, a repeated equality would be an alternative. */
const isRepeated = (condition: RootedCondition, others: readonly RootedCondition[]): boolean =>
  condition.operator === "eq" &&
  others.some((other) => other.operator === "eq" && hasSamePath(condition, other));

const eventsPerPair = 20;
/** Of 10,000 random pairs, 33 are undecided on average, and never so many by chance. */
const maxUndecided = 100;

/** Counts verdicts of random pairs and checks each. */
function countVerdicts(
  filters: fc.Arbitrary<FilterTexts>,
  given: fc.Arbitrary<Witness>,
  numRuns: number,
): Record<Implication, number> {
  const counts = { implied: 0, refuted: 0, undecided: 0 };
  const pairs = fc.tuple(filters, filters, fc.boolean()).map(([one, other, isAdded]) => {
    const [narrow, wide] = [readFilters(one), readFilters(other)];
    // Half of the first ones have most conditions of the second ones as well.
    const added = isAdded ? wide.filter((condition) => !isRepeated(condition, narrow)) : [];
    return [[...narrow, ...added], wide] as const;
  });
  // Always the same events, so that the seed that fast-check prints repeats a run.
  const pool = fc.sample(given, { seed: 1, numRuns: Math.min(numRuns, 500) });
  fc.assert(
    fc.property(pairs, fc.nat({ max: pool.length - eventsPerPair }), (pair, from) => {
      const verdict = implies(new TopicConditions(pair[0]), new TopicConditions(pair[1]));
      counts[verdict] += 1;
      checkVerdict(verdict, pair, pool.slice(from, from + eventsPerPair));
    }),
    { numRuns },
  );
  return counts;
}

/** Few runs say nothing about how many are decided. */
export function testRandomImplications(runs: Runs): void {
  const isDeep = runs === manyRuns;
  describe("an implication of random filters", () => {
    it("is never contradicted by an event, and a refutation has one, with any operators", () => {
      const withTypes = fc
        .tuple(
          topicFilters,
          fc.constantFrom("", "eventType=x", "eventType.prefix=x", "eventType>2", "eventType!=x"),
        )
        .map(([texts, type]) => ({
          ...texts,
          headerQuery: [texts.headerQuery, type].filter(Boolean).join("&"),
        }));
      const counts = countVerdicts(withTypes, validEvents, runs(10_000));
      const { implied, refuted } = counts;
      if (isDeep) assert.ok(implied > 2_000 && refuted > 2_000, JSON.stringify(counts));
      if (isDeep) assert.ok(counts.undecided <= maxUndecided, JSON.stringify(counts));
    });

    it("is decided for nearly all equalities, negations and comparisons", () => {
      const value = fc.constantFrom(
        ..."A B C a 5 10 5.0 1e1 -3 0 zz Z true 9 2026".split(" "),
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00%2B01:00",
        "2025-06-01T00:00:00Z",
      );
      const condition = fc
        .tuple(
          fc.constantFrom("p", "q", "r.s"),
          fc.constantFrom("=", "=", "!=", ">", ">=", "<", "<="),
          fc.array(value, { minLength: 1, maxLength: 3 }),
        )
        .map(([path, sign, values]) => path + sign + (/[<>]/.test(sign) ? (values[0] ?? "") : values.join()));
      const scalar = fc.oneof(
        value.map(decodeURIComponent),
        fc.constantFrom(5, 10, -3, 9.5, 2026, true, "", "6"),
      );
      const list = fc.array(scalar, { maxLength: 3 });
      const given = fc
        .record({ p: list, q: list, r: fc.record({ s: list }) })
        .map((event) => ({ event: { event }, record: {} }));
      const filters = fc
        .array(condition, { maxLength: 2 })
        .map((conditions) => ({ contentQuery: conditions.join("&") }));
      const counts = countVerdicts(filters, given, runs(10_000));
      if (isDeep) assert.ok(counts.undecided <= maxUndecided, JSON.stringify(counts));
    });
  });
}
