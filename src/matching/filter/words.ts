import { mergeEquals } from "./canonical.ts";
import type { Condition, Filter, Operator } from "./filter.ts";
import { toComparable } from "./order.ts";

/** A filter as people say it. */
export interface FilterWords {
  /** A phrase for each condition, those of one name with "eq" in one; all of them hold. None for a filter that matches every event. */
  readonly conditions: readonly string[];
  /** How the conditions are meant, in sentences, where that is not plain from the phrases. */
  readonly notes: readonly string[];
}

/** Says a filter in words. They may hold whatever the filter holds: whoever shows them makes them safe to show. */
export function filterWords(filter: Filter): FilterWords {
  const { conditions } = mergeEquals(filter);
  const notes = conditions.flatMap((condition) => comparisonNote(condition) ?? []);
  if (conditions.length > 0) notes.push("Where an event has a list, one element that fits is enough.");
  return { conditions: conditions.map(conditionWords), notes: [...new Set(notes)] };
}

/** Says one condition in words: "severity is Critical or Major". */
export function conditionWords({ path, operator, values }: Condition): string {
  const name = path.map(nameWords).join(".");
  const said = values.map(valueWords);
  if (operator === "eq") return `${name} is ${alternatives(said)}`;
  if (operator !== "ne") return `${name} is ${comparisons[operator]} ${said.join("")}`;
  return said.length === 1
    ? `${name} is not ${said.join("")} (and is there)`
    : `${name} is none of ${said.join(", ")} (and is there)`;
}

const comparisons: Readonly<Record<Exclude<Operator, "eq" | "ne">, string>> = {
  gt: "greater than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
};

/** "a", "a or b", "a, b or c". */
const alternatives = (said: readonly string[]): string =>
  said.length < 2 ? said.join("") : `${said.slice(0, -1).join(", ")} or ${said.at(-1) ?? ""}`;

/** Between quotation marks where it would be taken for something else: for two names, two values, or a word of ours. */
const nameWords = (name: string): string => (/^[^\s".,]+$/u.test(name) ? name : JSON.stringify(name));
const valueWords = (value: string): string =>
  /^[^\s",]+$/u.test(value) && value !== "or" ? value : JSON.stringify(value);

/** How the value of a comparison is compared. */
function comparisonNote({ operator, values: [value = ""] }: Condition): string | undefined {
  if (operator === "eq" || operator === "ne") return undefined;
  const { number, instant } = toComparable(value);
  const said = valueWords(value);
  if (number !== undefined) return `Numbers compare with ${said} as numbers, everything else as strings.`;
  if (instant !== undefined)
    return `Times of RFC 3339 compare with ${said} as instants, everything else as strings.`;
  return `Everything compares with ${said} as strings: it is neither a number nor a time of RFC 3339.`;
}
