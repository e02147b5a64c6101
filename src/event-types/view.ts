import type { EventTypeList, EventTypeView } from "../../schemas/event-types.ts";
import type { FilterMember } from "../matching/filter/filter.ts";
import { printPath } from "../matching/filter/to-text.ts";
import { valueKinds, type EventType, type EventTypeSummary, type PathStatistics } from "./event-type.ts";
import { anyName } from "./structure.ts";

/** A path as a filter has it. */
export interface FilterPath {
  readonly filter: FilterMember;
  readonly name: string;
}

export function toFilterPath([first = "", ...others]: readonly string[]): FilterPath {
  if (first !== "event" || others.length === 0)
    return { filter: "headerQuery", name: printNames([first, ...others]) };
  // The filter would ignore the first of two names "event".
  const path = others[0] === "event" && others.length > 1 ? [first, ...others] : others;
  return { filter: "contentQuery", name: printNames(path) };
}

/** Prints a path; a `*` stands for any name. */
export const printNames = (path: readonly string[]): string =>
  path.map((name) => (name === anyName ? name : printPath([name]))).join(".");

/** Converts event types to the JSON of HTTP and the command line. */
export function toEventTypeList(types: readonly EventTypeSummary[]): EventTypeList {
  const total = countEvents(types);
  return {
    eventTypes: types.map(({ pathCount, ...type }) => ({ ...toSummaryView(type, total), pathCount })),
  };
}

/** `all` are the summaries of all types. */
export const toEventTypeView = (
  { paths, ...type }: EventType,
  all: readonly EventTypeSummary[],
): EventTypeView => ({
  ...toSummaryView(type, countEvents(all)),
  paths: paths.map((one) => toPathView(one, type.sampled)),
});

const countEvents = (types: readonly EventTypeSummary[]): number =>
  types.reduce((sum, { events }) => sum + events, 0);

/** A type may have grown since the total was counted. */
const toShare = (count: number, total: number): number => (total === 0 ? 0 : Math.min(1, count / total));

const toSummaryView = (
  { name, events, sampled, firstOn, lastOn, sampledSince, isComplete }: Omit<EventType, "paths">,
  total: number,
) => ({
  name,
  events,
  share: toShare(events, total),
  sampled,
  sampledSince: sampledSince.toISOString(),
  firstOn: firstOn.toISOString(),
  lastOn: lastOn.toISOString(),
  complete: isComplete,
});

const toPathView = (
  { path, events, kinds, firstOn, lastOn, values }: PathStatistics,
  sampled: number,
): EventTypeView["paths"][number] => ({
  path: printNames(path),
  ...toFilterPath(path),
  events,
  share: toShare(events, sampled),
  kinds: Object.fromEntries(valueKinds.flatMap((kind) => (kinds[kind] > 0 ? [[kind, kinds[kind]]] : []))),
  firstOn: firstOn.toISOString(),
  lastOn: lastOn.toISOString(),
  ...(values && { values: values.toSorted() }),
});
