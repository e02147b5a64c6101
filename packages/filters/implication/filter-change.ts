import { implies, type TopicConditions } from "./implication.ts";

/**
 * What a change of a topic's filters does to its events: none, only more, only fewer, none of the old ones,
 * or other ones as well. Undecided: no proof and no counterexample was found.
 */
export type FilterChange = "same" | "widened" | "narrowed" | "disjoint" | "changed" | "undecided";

export function classifyChange(before: TopicConditions, after: TopicConditions): FilterChange {
  const [kept, added] = [implies(before, after).verdict, implies(after, before).verdict];
  if (kept === "implied" && added === "implied") return "same";
  if (kept === "implied" && added === "refuted") return "widened";
  if (kept === "refuted" && added === "implied") return "narrowed";
  if (before.isDisjoint(after)) return "disjoint";
  return kept === "refuted" && added === "refuted" ? "changed" : "undecided";
}
