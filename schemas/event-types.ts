import type { FromSchema } from "json-schema-to-ts";

const count = { type: "integer", minimum: 0 } as const;
const share = { type: "number", minimum: 0, maximum: 1 } as const;
const time = { type: "string", format: "date-time" } as const;

const summary = {
  name: { type: "string", description: "The `eventType`; `-` for events without one." },
  events: { ...count, description: "The number of events that the router has seen." },
  share: { ...share, description: "The share of all events." },
  sampled: { ...count, description: "The number of events that were looked into." },
  sampledSince: { ...time, description: "When the first of these occurred. Older ones are forgotten." },
  firstOn: time,
  lastOn: time,
  complete: { type: "boolean", description: "False if there were more paths than are stored." },
} as const;

const summaryNames = [
  "name",
  "events",
  "share",
  "sampled",
  "sampledSince",
  "firstOn",
  "lastOn",
  "complete",
] as const;

export const eventTypeListSchema = {
  $id: "event-type-list",
  type: "object",
  additionalProperties: false,
  required: ["eventTypes"],
  properties: {
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
  required: [...summaryNames, "paths"],
  properties: {
    ...summary,
    paths: {
      type: "array",
      description: "The known paths, each after that of the object that it is in.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "filter", "name", "events", "share", "kinds", "firstOn", "lastOn"],
        properties: {
          path: {
            type: "string",
            description: "From the root of the event. A `*` stands for any name: there are too many.",
          },
          filter: { enum: ["headerQuery", "contentQuery"], description: "The filter that it is used in." },
          name: { type: "string", description: "The path as it is written in that filter." },
          events: { ...count, description: "The number of sampled events that have it." },
          share: { ...share, description: "The share of the sampled events." },
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
          firstOn: time,
          lastOn: time,
          values: {
            type: "array",
            items: { type: "string" },
            description: "Its values, if values are stored (`EVENT_LEARNING=values`) and there are few.",
          },
        },
      },
    },
  },
} as const;

export type EventTypeView = FromSchema<typeof eventTypeSchema>;
