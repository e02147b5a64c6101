import type { FromSchema } from "json-schema-to-ts";

const count = { type: "integer", minimum: 0 } as const;
const share = { type: "number", minimum: 0, maximum: 1 } as const;
const time = { type: ["string", "null"], format: "date-time" } as const;

const sample = {
  type: "object",
  additionalProperties: false,
  description: "The last events, which were read at most five minutes ago.",
  required: ["events", "rejected", "from", "to"],
  properties: {
    events: { ...count, description: "The number of events, at most 5,000." },
    rejected: { ...count, description: "The number of records between them that are not events." },
    from: { ...time, description: "The timestamp of the first event." },
    to: { ...time, description: "The timestamp of the last event." },
  },
} as const;

const summary = {
  name: { type: "string", description: "The `eventType`; `-` for events without one." },
  events: { ...count, description: "The number of events in the sample." },
  share: { ...share, description: "The share of the sample." },
  complete: { type: "boolean", description: "False if there were more paths than are kept." },
} as const;

const summaryNames = ["name", "events", "share", "complete"] as const;

export const eventTypeListSchema = {
  $id: "event-type-list",
  type: "object",
  additionalProperties: false,
  required: ["eventTypes"],
  properties: {
    sample,
    reason: { type: "string", description: "Why there is no sample." },
    eventTypes: {
      type: "array",
      description: "The most frequent first.",
      items: {
        type: "object",
        additionalProperties: false,
        required: [...summaryNames, "pathCount"],
        properties: { ...summary, pathCount: { ...count, description: "The number of known paths." } },
      },
    },
  },
} as const;

export type EventTypeList = FromSchema<typeof eventTypeListSchema>;

export const eventTypeSchema = {
  $id: "event-type",
  type: "object",
  additionalProperties: false,
  required: ["sample", ...summaryNames, "paths"],
  properties: {
    sample,
    ...summary,
    paths: {
      type: "array",
      description: "The known paths, each after that of the object that it is in.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "filter", "name", "events", "share", "kinds"],
        properties: {
          path: {
            type: "string",
            description: "From the root of the event. A `*` stands for any name: there are too many.",
          },
          filter: { enum: ["headerQuery", "contentQuery"], description: "The filter that it is used in." },
          name: { type: "string", description: "The path as it is written in that filter." },
          events: { ...count, description: "The number of events that have it." },
          share: { ...share, description: "The share of the events of the type." },
          kinds: {
            type: "object",
            additionalProperties: false,
            description: "In how many of them it has a value of a kind; absent kinds did not occur.",
            properties: {
              string: count,
              number: count,
              boolean: count,
              null: count,
              object: count,
              list: count,
            },
          },
          values: {
            type: "array",
            items: { type: "string" },
            description:
              "Its values, if there are few and they repeat. Only with the rights `dead-letters.read-content` and `admin`.",
          },
        },
      },
    },
  },
} as const;

export type EventTypeView = FromSchema<typeof eventTypeSchema>;
