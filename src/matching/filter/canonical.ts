import type { Condition, Filter } from "./filter.ts";
import { createTest } from "./match.ts";
import { compare, toComparable, compareTexts } from "./order.ts";
import { printCondition } from "./print.ts";

/** The filter with all conditions of one name with "eq" in one: together they are OR (TMF630). */
export function mergeEquals({ conditions }: Filter): Filter {
  const equals = conditions.filter(({ operator }) => operator === "eq");
  if (equals.length < 2) return { conditions };
  const byPath = Map.groupBy(equals, ({ path }) => JSON.stringify(path));
  const merged = [...byPath.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, values: [first, ...others].flatMap(({ values }) => values) },
  );
  return { conditions: [...merged, ...conditions.filter(({ operator }) => operator !== "eq")] };
}

/**
 * The one way to write a filter that matches the same events: alternatives in one condition, nothing twice, nothing that
 * another condition of the same name already says, everything in order.
 */
export function canonical(filter: Filter): Filter {
  const conditions = mergeEquals(filter)
    .conditions.map((condition) => ({ ...condition, values: sortedSet(condition.values) }))
    .toSorted((a, b) => compareTexts(printCondition(a), printCondition(b)));
  const kept: Condition[] = [];
  for (const [index, one] of conditions.entries()) {
    const others = [...kept, ...conditions.slice(index + 1)];
    if (!others.some((other) => samePath(one, other) && implies(other, one))) kept.push(one);
  }
  return { conditions: kept };
}

const sortedSet = (texts: readonly string[]): string[] => [...new Set(texts)].sort(compareTexts);

const samePath = (a: Condition, b: Condition): boolean => JSON.stringify(a.path) === JSON.stringify(b.path);

/** Whether every value that satisfies `a` is certain to satisfy `b`. */
function implies(a: Condition, b: Condition): boolean {
  const test = createTest(b);
  if (a.operator === "eq") return a.values.every(test);
  const testA = createTest(a);
  if (b.operator === "ne") return b.values.every((value) => !testA(value));
  if (a.operator === "ne" || b.operator === "eq") return false;
  return isUpper(a) === isUpper(b) && bounds(a, b);
}

const isUpper = ({ operator }: Condition): boolean => operator === "lt" || operator === "lte";

/** Whether the bound of `a` is at least as narrow as that of `b` in every order that a value can be compared in. */
function bounds(a: Condition, b: Condition): boolean {
  const [x, y] = [toComparable(a.values[0] ?? ""), toComparable(b.values[0] ?? "")];
  const sameKind =
    (x.number === undefined) === (y.number === undefined) &&
    (x.instant === undefined) === (y.instant === undefined);
  if (!sameKind) return false;
  const direction = isUpper(a) ? -1 : 1;
  const mayBeEqual = !(a.operator.endsWith("e") && !b.operator.endsWith("e"));
  const narrower = (order: number): boolean => order * direction > 0 || (order === 0 && mayBeEqual);
  return narrower(compare(x, y)) && narrower(compareTexts(x.text, y.text));
}
