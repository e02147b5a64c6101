import { operators, type Condition, type Operator } from "../../filter/filter.ts";

/** Texts that are equal in one way and not in another: as numbers, but for case, as times, at an end. */
const texts = [
  ...[
    "1",
    "1.0",
    "10",
    "10e-1",
    "-2",
    "9007199254740993",
    "x",
    "X",
    "xY",
    "yx",
    "aXb",
    "ß",
    "ΟΣ",
    "οσ",
    "true",
  ],
  ...["😀", "\uffff", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"],
  // What a filter must encode, or have after a suffix.
  ...["null", "None", "now-1d", "x AND y", "${x}", "{{x}}", "*", "-7d", "and x<1"],
];
/** What no filter compares with by its order. */
const nearTimes = ["2026-01-01 00:00:00", "2026-01-01T00:00:00+0000", "2026-13-01", "01.01.2026"];
const wildcards = ["*", "?", "x*", "*X", "*x*", "a?b", "1*0", "??", "\\*"];
const expressions = ["x", "^x", "x$", "(?i)^x$", "^.$", "1|true", "^[0-9]+$", "^$"];

function listValues(operator: Operator): readonly (readonly string[])[] {
  const alone = (values: readonly string[]) => values.map((value) => [value]);
  if (operator === "exists") return alone(["true", "false"]);
  if (operator === "regex") return alone(expressions);
  if (operator === "like") return [...alone(wildcards), ["x*", "*Y"]];
  const isOrder = ["gt", "gte", "lt", "lte"].includes(operator);
  return [
    ...alone(texts),
    ...(isOrder ? [] : [...alone(nearTimes), ["1", "x"], ["x", "null"], texts.slice(0, 4)]),
  ];
}

/** Each operator with each value that is a case of its own. */
export const everyCondition: readonly Condition[] = operators.flatMap((operator) =>
  listValues(operator).map((values) => ({ path: ["a"], operator, values })),
);

const scalars = [...texts, ...nearTimes, "", 1, 10, -2, 1e21, true, false];

/** Events with everything that a path can lead to. */
export const everyEvent: readonly Readonly<Record<string, unknown>>[] = [
  {},
  ...[null, [], {}, [null], [[1]], [[]], { b: 1 }, [{ b: 1 }], ["1", "x"], [1, "X"], ["a", "b"]].map((a) => ({
    a,
  })),
  ...scalars.map((a) => ({ a })),
];
