import fc from "fast-check";

import { operators, type Condition, type Filter, type Operator } from "../../filter/filter.ts";
import { escapeLike } from "../../patterns/like.ts";
import type { EventRecord } from "../../filter/record.ts";
import { printFilter } from "../../filter/to-text.ts";
import type { FilterTexts } from "../../filter/topic-filters.ts";

/** Few names and values, so that filters often match events. */
const name: fc.Arbitrary<string> = fc.constantFrom("a", "b", "gt", "constructor", "event", "between");
const value = fc.constantFrom(
  ...["1", "2", "3", "x", "true", "1.0", "20e-1", "xY", "X", "aXb", "null", "2026-01-01"],
);

const path = fc.array(name, { minLength: 1, maxLength: 2 });

const toList = (values: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.array(values, { minLength: 1, maxLength: 3 });

const wildcard = fc.constantFrom("*", "?");

const regex = fc.constantFrom(
  "x",
  "^x",
  "1|3",
  "^[0-9]+$",
  "X.*",
  "(?i)x",
  "^a.*b$",
  "^.$",
  "x+y?",
  "^a*X",
  "^$",
);

/** What a condition of each operator may compare with. */
function createValues(operator: Operator, values: fc.Arbitrary<string>): fc.Arbitrary<string[]> {
  switch (operator) {
    case "exists":
      return fc.constantFrom(["true"], ["false"]);
    case "regex":
      return regex.map((one) => [one]);
    case "like":
      return toList(
        fc
          .array(fc.oneof(values.map(escapeLike), wildcard), { minLength: 1, maxLength: 4 })
          .map((parts) => parts.join("")),
      );
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return values.map((one) => [one]);
    default:
      return toList(values);
  }
}

const createCondition = (names: typeof path, values: fc.Arbitrary<string>): fc.Arbitrary<Condition> =>
  fc
    .oneof(
      { weight: 3, arbitrary: fc.constant("eq" as const) },
      { weight: 1, arbitrary: fc.constant("ne" as const) },
      { weight: 4, arbitrary: fc.constantFrom(...operators) },
    )
    .chain((operator) =>
      fc.record({ path: names, operator: fc.constant(operator), values: createValues(operator, values) }),
    );

const recordPath = fc.constantFrom(["$key"], ["$header", "a"], ["$header", "a.b"], ["$ce", "type"]);

/** A condition of the record's own data. */
const recordCondition: fc.Arbitrary<Condition> = fc
  .record({ condition: createCondition(path, value), path: recordPath })
  .map(({ condition, path: names }) => ({ ...condition, path: names, ofRecord: true }));

/** A filter over the few names and values. */
export const filters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(createCondition(path, value), { maxLength: 4 }),
});

const headerFilters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(fc.oneof({ weight: 6, arbitrary: createCondition(path, value) }, recordCondition), {
    maxLength: 4,
  }),
});

const anyText = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });

/** A filter of any names and values that a text can hold. */
export const wildFilters: fc.Arbitrary<Filter> = fc.record({
  conditions: fc.array(
    fc.oneof(
      createCondition(
        fc.array(
          fc.oneof(
            anyText,
            fc.constantFrom(...operators, "in", "GT", "isnull", " a ", "?", "a.b", "$key", "/a", "(x)"),
            fc.constantFrom("not a", "and b", "OR c", "{{x}}", "${x}"),
          ),
          { minLength: 1, maxLength: 3 },
        ),
        fc.oneof(
          anyText,
          fc.constantFrom(
            "=",
            "a,b",
            "&;",
            "%41",
            " ",
            "a*",
            "<1",
            '"x"',
            "[1]",
            "(1",
            "'x'",
            "{}",
            "~x",
            "^|",
            ...["null", "NULL", "None", "now", "now-1d", "today()", "-7d", "a AND b", "a or b<1", " AND "],
            ...["${x}", "{{ x }}", "x*", "*x", "x${y}z", "{{{x}}}"],
          ),
        ),
      ),
      recordCondition,
    ),
    { maxLength: 4 },
  ),
});

/** The two filters of a topic. */
export const topicFilters: fc.Arbitrary<FilterTexts> = fc.record({
  headerQuery: headerFilters.map(printFilter),
  contentQuery: filters.map(printFilter),
});

const scalar = fc.constantFrom<unknown>(
  "1",
  "2",
  "3",
  "x",
  1,
  2,
  3,
  true,
  "1.0",
  "xY",
  "xy",
  "aXb",
  "",
  1e21,
  "2026-01-01T00:00:00Z",
  "2026-01-01T01:30:00+01:00",
  "2026-01-01 00:00",
);
const leaf = fc.oneof(
  scalar,
  fc.constant(null),
  fc.array(fc.oneof(scalar, fc.constantFrom<unknown>([1], [], null)), { maxLength: 3 }),
);

const createObject = (member: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.dictionary(name, member, { maxKeys: 4, noNullPrototype: true });

const deep = fc.oneof(leaf, createObject(leaf), fc.array(createObject(leaf), { maxLength: 2 }));

/** An event of the few names and values, with an `event` object. */
export const events: fc.Arbitrary<unknown> = fc
  .record({ members: createObject(deep), event: fc.oneof(createObject(deep), deep) })
  .map(({ members, event }) => ({ ...(members as object), event }));

/** The record of an event. */
export const eventRecords: fc.Arbitrary<EventRecord> = fc.record(
  {
    $key: fc.constantFrom("1", "x", "xY", null),
    $header: fc.dictionary(fc.constantFrom("a", "a.b"), fc.oneof(value, toList(value)), {
      noNullPrototype: true,
    }),
    $ce: fc.record({ type: value }),
  },
  { requiredKeys: [] },
);
