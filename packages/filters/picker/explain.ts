import { toComparable } from "../filter/compare.ts";
import { isComparison } from "../filter/filter.ts";
import { printScalar } from "../filter/match.ts";
import { PathTree } from "../filter/path-tree.ts";
import type { EventRecord } from "../filter/record.ts";
import type { RootedCondition } from "../filter/topic-filters.ts";
import { Checks } from "./checks.ts";

export interface ConditionResult {
  readonly condition: RootedCondition;
  readonly held: boolean;
  /** The event's values at the path. */
  readonly found: readonly string[];
  /** Whether the condition compares with a time, and none of the values is one. */
  readonly missesTime: boolean;
}

/** Evaluates each condition against an event. */
export function explain(
  conditions: readonly RootedCondition[],
  event: unknown,
  record: EventRecord = {},
): ConditionResult[] {
  const checks = new Checks();
  const tree = new PathTree<string[]>();
  const found = conditions.map((condition) => tree.getOrAdd(condition, () => []));
  const added = conditions.map((condition) => checks.add(condition));
  tree.walk(event, record, (texts, value) => {
    if (value !== undefined) texts.push(printScalar(value));
  });
  checks.read(event, record);
  return conditions.map((condition, at) => {
    const check = added[at];
    const held = check !== undefined && checks.passes(check);
    const values = found[at] ?? [];
    return { condition, held, found: values, missesTime: !held && missesTime(condition, values) };
  });
}

const missesTime = (
  { operator, values: [operand = ""] }: RootedCondition,
  found: readonly string[],
): boolean =>
  isComparison(operator) &&
  toComparable(operand).instant !== undefined &&
  found.length > 0 &&
  found.every((one) => toComparable(one).instant === undefined);
