import fc from "fast-check";

import { operators, type Condition, type Filter } from "../../../../src/matching/filter/filter.ts";
import type { FilterTexts } from "../../../../src/matching/filter/topic-filters.ts";
import { printFilter } from "../../../../src/matching/filter/to-text.ts";

/** Few names and values, so that filters and events often meet. */
const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "gt", "constructor", "event");
const value = fc.constantFrom("1", "2", "3", "x", "true");

const path = fc.array(name, { minLength: 1, maxLength: 2 });

const conditionOf = (names: typeof path, values: fc.Arbitrary<string>): fc.Arbitrary<Condition> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ path: names, operator: fc.constant("eq" as const), values: several(values) }),
    },
    fc.record({ path: names, operator: fc.constant("ne" as const), values: several(values) }),
    fc.record({
      path: names,
      operator: fc.constantFrom(...operators),
      values: values.map((one) => [one]),
    }),
  );

const several = (values: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.array(values, { minLength: 1, maxLength: 3 });

/** A filter over the few names and values. */
export const filters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(conditionOf(path, value), { maxLength: 4 }),
});

const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });

/** A filter of any names and values that a text can hold. */
export const wildFilters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(
    conditionOf(
      fc.array(fc.oneof(anyText, fc.constantFrom(...operators, " a ", "?", "a.b")), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.oneof(anyText, fc.constantFrom("=", "a,b", "&;", "%41", " ")),
    ),
    { maxLength: 4 },
  ),
});

/** The two filters of a topic. */
export const topicFilters: fc.Arbitrary<FilterTexts> = fc.record({
  headerQuery: filters.map(printFilter),
  contentQuery: filters.map(printFilter),
});

const leaf = fc.oneof(
  fc.constantFrom<unknown>("1", "2", "3", "x", 1, 2, 3, true, null),
  fc.array(fc.constantFrom<unknown>(1, "2", 3, "x", [1]), { maxLength: 3 }),
);

const objectOf = (member: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.dictionary(name, member, { maxKeys: 4, noNullPrototype: true });

const deep = fc.oneof(leaf, objectOf(leaf), fc.array(objectOf(leaf), { maxLength: 2 }));

/** An event of the few names and values, with an `event` object. */
export const events: fc.Arbitrary<unknown> = fc
  .record({ members: objectOf(deep), event: fc.oneof(objectOf(deep), deep) })
  .map(({ members, event }) => ({ ...(members as object), event }));
