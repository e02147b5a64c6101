import type { FromSchema } from "json-schema-to-ts";

import { atom, count, flag, list, named, nullableTime, object, objects, text } from "./shapes.ts";

const share = atom({ type: "number", minimum: 0, maximum: 1 });

const sample = object("The last events, which were read at most five minutes ago.", {
  events: count("The number of events, at most 5,000."),
  rejected: count("The number of records between them that are not events."),
  from: nullableTime("The timestamp of the first event."),
  to: nullableTime("The timestamp of the last event."),
});

const summary = {
  name: text("The `eventType`; `-` for events without one."),
  events: count("The number of events in the sample."),
  share: share("The share of the sample."),
  complete: flag("False if there were more paths than are kept."),
} as const;

export const eventTypeListSchema = named("event-type-list", {
  "sample?": sample,
  "reason?": text("Why there is no sample."),
  eventTypes: objects("The most frequent first.", {
    ...summary,
    pathCount: count("The number of known paths."),
  }),
});

export type EventTypeList = FromSchema<typeof eventTypeListSchema>;

export const eventTypeSchema = named("event-type", {
  sample,
  ...summary,
  paths: objects("The known paths, each after that of the object that it is in.", {
    path: text("From the root of the event. A `*` stands for any name: there are too many."),
    filter: { enum: ["headerQuery", "contentQuery"], description: "The filter that it is used in." },
    name: text("The path as it is written in that filter."),
    events: count("The number of events that have it."),
    share: share("The share of the events of the type."),
    kinds: object("In how many of them it has a value of a kind; absent kinds did not occur.", {
      "string?": count(),
      "number?": count(),
      "boolean?": count(),
      "null?": count(),
      "object?": count(),
      "list?": count(),
    }),
    "values?": list(
      text(),
      "Its values, if there are few and they repeat. Only with the rights `dead-letters.read-content` and `admin`.",
    ),
  }),
});

export type EventTypeView = FromSchema<typeof eventTypeSchema>;
