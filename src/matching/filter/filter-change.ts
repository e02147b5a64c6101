import { findContradiction, implies } from "./implication.ts";
import type { RootedCondition } from "./topic-filters.ts";

/**
 * What a change of a topic's filters does to its events: none, only more, only fewer, none of the old ones,
 * or other ones as well. Undecided: no proof and no counterexample was found.
 */
export type FilterChange = "same" | "widened" | "narrowed" | "disjoint" | "changed" | "undecided";

export function classifyChange(
  before: readonly RootedCondition[],
  after: readonly RootedCondition[],
): FilterChange {
  const [kept, added] = [implies(before, after).verdict, implies(after, before).verdict];
  if (kept === "implied" && added === "implied") return "same";
  if (kept === "implied" && added === "refuted") return "widened";
  if (kept === "refuted" && added === "implied") return "narrowed";
  if (findContradiction([...before, ...after]) !== undefined) return "disjoint";
  return kept === "refuted" && added === "refuted" ? "changed" : "undecided";
}
