import fc from "fast-check";

import { operators, type Condition, type Filter } from "../../../../src/matching/filter/filter.ts";
import type { FilterTexts } from "../../../../src/matching/filter/topic-filters.ts";
import { printFilter } from "../../../../src/matching/filter/to-text.ts";

/** Few names and values, so that filters often match events. */
const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "gt", "constructor", "event");
const value = fc.constantFrom("1", "2", "3", "x", "true");

const path = fc.array(name, { minLength: 1, maxLength: 2 });

const createCondition = (names: typeof path, values: fc.Arbitrary<string>): fc.Arbitrary<Condition> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        path: names,
        operator: fc.constant("eq" as const),
        values: createValues(values),
      }),
    },
    fc.record({ path: names, operator: fc.constant("ne" as const), values: createValues(values) }),
    fc.record({
      path: names,
      operator: fc.constantFrom(...operators),
      values: values.map((one) => [one]),
    }),
  );

const createValues = (values: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.array(values, { minLength: 1, maxLength: 3 });

/** A filter over the few names and values. */
export const filters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(createCondition(path, value), { maxLength: 4 }),
});

const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });

/** A filter of any names and values that a text can hold. */
export const wildFilters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(
    createCondition(
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

const createObject = (member: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.dictionary(name, member, { maxKeys: 4, noNullPrototype: true });

const deep = fc.oneof(leaf, createObject(leaf), fc.array(createObject(leaf), { maxLength: 2 }));

/** An event of the few names and values, with an `event` object. */
export const events: fc.Arbitrary<unknown> = fc
  .record({ members: createObject(deep), event: fc.oneof(createObject(deep), deep) })
  .map(({ members, event }) => ({ ...(members as object), event }));
