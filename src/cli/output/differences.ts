import type { FilterChange } from "@topicsync/filters";
import { sanitize } from "./output.ts";

/** What a change of filters does to the events of a topic. */
export const effects: Readonly<Record<FilterChange, string>> = {
  same: "same events: only the spelling changes",
  widened: "widened: every event that matched still matches",
  narrowed: "narrowed: only events that matched still match",
  disjoint: "disjoint: no event that matched still matches",
  changed: "changed: some events match no longer, and others newly",
  undecided: "the effect on the events could not be decided",
};

/** A member of a topic with two values; "" says nothing. */
export interface Difference {
  readonly member: string;
  readonly from: string;
  readonly to: string;
}

/** Formats what is different, the old value above the new one. */
export const formatDifferences = (differences: readonly Difference[]): string[] =>
  differences
    .filter(({ from, to }) => from !== to)
    .flatMap(({ member, from, to }) => [
      `    ${member}`,
      ...(from === "" ? [] : [sanitize(`    - ${from}`)]),
      ...(to === "" ? [] : [sanitize(`    + ${to}`)]),
    ]);
