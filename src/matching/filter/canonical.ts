import { mergeEquals, type Condition, type Filter } from "./filter.ts";
import { createValueTest } from "./match.ts";
import { compare, toComparable, compareTexts } from "./compare.ts";
import { printCondition } from "./to-text.ts";

/**
 * Returns the canonical form of a filter, which matches the same events: alternatives merged, no duplicates,
 * no condition that another one of the same name implies, everything sorted.
 */
export function canonicalize(filter: Filter): Filter {
  const conditions = mergeEquals(filter)
    .conditions.map((condition) => ({ ...condition, values: sortDistinct(condition.values) }))
    .toSorted((a, b) => compareTexts(printCondition(a), printCondition(b)));
  const kept: Condition[] = [];
  for (const [index, one] of conditions.entries()) {
    const others = [...kept, ...conditions.slice(index + 1)];
    if (!others.some((other) => hasSamePath(one, other) && implies(other, one))) kept.push(one);
  }
  return { conditions: kept };
}

const sortDistinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort(compareTexts);

const hasSamePath = (a: Condition, b: Condition): boolean =>
  JSON.stringify(a.path) === JSON.stringify(b.path);

/** Whether every value that satisfies `a` also satisfies `b`. */
function implies(a: Condition, b: Condition): boolean {
  const test = createValueTest(b);
  if (a.operator === "eq") return a.values.every(test);
  const testA = createValueTest(a);
  if (b.operator === "ne") return b.values.every((value) => !testA(value));
  if (a.operator === "ne" || b.operator === "eq") return false;
  return isUpper(a) === isUpper(b) && isNarrower(a, b);
}

const isUpper = ({ operator }: Condition): boolean => operator === "lt" || operator === "lte";

/** Whether the bound of `a` is at least as narrow as that of `b`, however a value is compared. */
function isNarrower(a: Condition, b: Condition): boolean {
  const [x, y] = [toComparable(a.values[0] ?? ""), toComparable(b.values[0] ?? "")];
  const sameKind =
    (x.number === undefined) === (y.number === undefined) &&
    (x.instant === undefined) === (y.instant === undefined);
  if (!sameKind) return false;
  const direction = isUpper(a) ? -1 : 1;
  const mayBeEqual = !(a.operator.endsWith("e") && !b.operator.endsWith("e"));
  const holds = (order: number): boolean => order * direction > 0 || (order === 0 && mayBeEqual);
  return holds(compare(x, y)) && holds(compareTexts(x.text, y.text));
}
