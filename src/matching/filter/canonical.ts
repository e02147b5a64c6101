import { hasSamePath, isComparison, mergeEquals, type Condition, type Filter } from "./filter.ts";
import { createValueTest } from "./match.ts";
import { compare, toComparable, compareTexts } from "./compare.ts";
import { parseNumber, printNumber } from "./numbers.ts";
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

/** Whether every event with a value that satisfies `a` also satisfies `b`. Sometimes false where it does. */
function implies(a: Condition, b: Condition): boolean {
  if (b.operator === "exists" && b.values[0] === "true")
    return a.operator !== "exists" || a.values[0] === "true";
  if (a.operator === "exists" || b.operator === "exists") return isEqual(a, b);
  const testB = createValueTest(b);
  if (a.operator === "eq") return a.values.flatMap(toSamples).every((sample) => testB(...sample));
  const testA = createValueTest(a);
  if (b.operator === "ne") return b.values.flatMap(toSamples).every((sample) => !testA(...sample));
  if (isComparison(a.operator) && isComparison(b.operator))
    return isUpper(a) === isUpper(b) && isNarrower(a, b);
  return a.operator === b.operator && a.values.every((value) => b.values.includes(value));
}

const isEqual = (a: Condition, b: Condition): boolean =>
  a.operator === b.operator && a.values.join() === b.values.join();

/** What is equal to a value: the text, and the number if it is one. */
function toSamples(value: string): (readonly [text: string, isNumber: boolean])[] {
  const number = parseNumber(value);
  return number === undefined
    ? [[value, false]]
    : [
        [value, false],
        [printNumber(number), true],
      ];
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
