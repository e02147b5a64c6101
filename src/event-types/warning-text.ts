import { printCondition, type RootedCondition } from "@topicsync/filters";
import type { FilterWarning } from "../../schemas/topics/check.ts";
import type { EventSample } from "./event-type.ts";
import { printNames } from "./view.ts";

interface WarningParts {
  readonly suggestions: FilterWarning["suggestions"];
  /** How frequent the first suggestion is. */
  readonly share?: number;
  /** Whether the message ends with the first suggestion, as a question. */
  readonly asks?: boolean;
  readonly end?: string;
}

/** Creates a warning whose message may end with a question about the first suggestion. */
export function createWarning(
  code: FilterWarning["code"],
  condition: RootedCondition,
  message: string,
  { suggestions, share, asks = true, end = "" }: WarningParts,
): FilterWarning {
  const [first] = suggestions;
  const { member: filter } = condition;
  const place = first === undefined || first.filter === filter ? "" : ` in the ${first.filter}`;
  const percent = share === undefined ? "" : ` (${Math.max(1, Math.round(share * 100))} %)`;
  const question = first === undefined || !asks ? "." : `; did you mean \`${first.text}\`${place}${percent}?`;
  return {
    code,
    filter,
    condition: printOwn(condition),
    message: message + question + end,
    suggestions,
  };
}

/** The path of a condition as its filter has it. */
const toOwnPath = ({ path, member }: RootedCondition): readonly string[] =>
  member === "contentQuery" && !(path[1] === "event" && path.length > 2) ? path.slice(1) : path;

export const printName = (condition: RootedCondition): string => printNames(toOwnPath(condition));
export const printOwn = (condition: RootedCondition): string =>
  printCondition({ ...condition, path: toOwnPath(condition) });

/** "1 event", "100,000 events". */
export const formatEvents = (count: number): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? "event" : "events"}`;

const timeFormat = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "short",
  timeZone: "UTC",
});

/** "in 1,200 sampled events since 3 Nov 2026, 15:40 UTC"; `which` comes after "events". */
export function formatSampled(count: number, { from }: EventSample, which = ""): string {
  const since = from === undefined ? "" : ` since ${timeFormat.format(from)} UTC`;
  return `in ${count.toLocaleString("en-US")} sampled ${count === 1 ? "event" : "events"}${which}${since}`;
}
