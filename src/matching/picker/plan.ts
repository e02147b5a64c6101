import type { RootedCondition } from "../filter/topic-filters.ts";
import type { SlotKind } from "./slots.ts";

/** What one condition gives to a topic's keys. */
export interface KeyPart {
  readonly path: readonly string[];
  readonly kind: SlotKind;
  /** One of these stands in a key. */
  readonly values: readonly string[];
}

/** How a topic is found: by which keys, and which conditions are still to be checked then. */
export interface Plan {
  readonly parts: readonly KeyPart[];
  readonly checks: readonly RootedCondition[];
}

/** A topic has at most this many keys, unless a single condition has more alternatives. */
const maxKeys = 64;

/**
 * Plans how a topic with these conditions, of which there is at least one, is found. Equalities make the key, those of
 * the fewest alternatives first; a topic without any is found by having a value at its first path.
 */
export function createPlan(conditions: readonly RootedCondition[]): Plan {
  const equalities = conditions
    .filter(({ operator }) => operator === "eq")
    .map((condition) => ({ condition, values: [...new Set(condition.values)] }))
    .sort((a, b) => a.values.length - b.values.length);
  const parts: KeyPart[] = [];
  const keyed = new Set<RootedCondition>();
  let keys = 1;
  for (const { condition, values } of equalities) {
    if (parts.length > 0 && keys * values.length > maxKeys) break;
    keys *= values.length;
    parts.push({ path: condition.path, kind: "equal", values });
    keyed.add(condition);
  }
  const [first] = conditions;
  if (parts.length === 0 && first !== undefined)
    parts.push({ path: first.path, kind: "present", values: [""] });
  return { parts, checks: conditions.filter((condition) => !keyed.has(condition)) };
}

/** Every way to take one of each. */
export function combinations<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>((all, list) => all.flatMap((one) => list.map((item) => [...one, item])), [[]]);
}
