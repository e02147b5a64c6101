import { type FilterMember, printPath } from "@topicsync/filters";
import type { EventTypeList, EventTypeView } from "../../schemas/event-types.ts";
import { valueKinds, type EventSample, type EventType, type SampleAccess } from "./event-type.ts";
import { anyName } from "./structure.ts";

/** A path as a filter has it. */
interface FilterPath {
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

/** Converts a sample to the JSON of HTTP and the command line. */
export const toEventTypeList = (sample: EventSample): EventTypeList => ({
  sample: toSampleView(sample),
  eventTypes: sample.types.map((type) => ({
    ...toTypeView(type, sample),
    pathCount: type.paths.length,
  })),
});

/** Values are events' data: they are shown only to who may read events. */
export const toEventTypeView = (
  type: EventType,
  sample: EventSample,
  { showsValues }: SampleAccess,
): EventTypeView => ({
  sample: toSampleView(sample),
  ...toTypeView(type, sample),
  paths: type.paths.map(({ path, events, kinds, values }) => ({
    path: printNames(path),
    ...toFilterPath(path),
    events,
    share: events / type.events,
    kinds: Object.fromEntries(valueKinds.flatMap((kind) => (kinds[kind] > 0 ? [[kind, kinds[kind]]] : []))),
    ...(showsValues && values && { values: values.toSorted() }),
  })),
});

const toSampleView = ({ events, rejected, from, to }: EventSample): EventTypeView["sample"] => ({
  events,
  rejected,
  from: from?.toISOString() ?? null,
  to: to?.toISOString() ?? null,
});

const toTypeView = ({ name, events, isComplete }: EventType, sample: EventSample) => ({
  name,
  events,
  share: events / sample.events,
  complete: isComplete,
});
