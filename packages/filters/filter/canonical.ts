import { compareTexts } from "./compare.ts";
import { hasSamePath, mergeEquals, type Condition, type Filter } from "./filter.ts";
import { printCondition } from "./to-text.ts";
import { isSubset, ValueSet } from "../implication/value-set.ts";

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

/** Whether it is certain that every event with a value that satisfies `a` also satisfies `b`. */
function implies(a: Condition, b: Condition): boolean {
  if (b.operator === "exists" && b.values[0] === "true")
    return a.operator !== "exists" || a.values[0] === "true";
  if (a.operator === "exists" || b.operator === "exists")
    return a.operator === b.operator && a.values[0] === b.values[0];
  return isSubset(new ValueSet(a), new ValueSet(b));
}
