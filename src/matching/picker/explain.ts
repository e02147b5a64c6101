import { printScalar } from "../filter/match.ts";
import { createPathTree } from "../filter/path-tree.ts";
import type { EventRecord } from "../filter/record.ts";
import type { RootedCondition } from "../filter/topic-filters.ts";
import { Checks } from "./checks.ts";

export interface ConditionResult {
  readonly condition: RootedCondition;
  readonly held: boolean;
  /** The event's values at the path. */
  readonly found: readonly string[];
}

/** Evaluates each condition against an event. */
export function explain(
  conditions: readonly RootedCondition[],
  event: unknown,
  record: EventRecord = {},
): ConditionResult[] {
  const checks = new Checks();
  const tree = createPathTree<string[]>();
  const found = conditions.map((condition) => tree.getOrAdd(condition, () => []));
  const added = conditions.map((condition) => checks.add(condition));
  tree.walk(event, record, (texts, value) => {
    if (value !== undefined) texts.push(printScalar(value));
  });
  checks.read(event, record);
  return conditions.map((condition, at) => {
    const check = added[at];
    return { condition, held: check !== undefined && checks.passes(check), found: found[at] ?? [] };
  });
}
