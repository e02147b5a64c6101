import type { FromSchema } from "json-schema-to-ts";

const time = { type: "string", format: "date-time" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** A time without events. */
export const durationPattern = "^[1-9][0-9]{0,3}[smhd]$";
export const durationRule = "a number of at most four digits with its unit, such as 30d, 12h or 45m";

/** When events were counted; null if never. */
export const countingSchema = {
  oneOf: [
    { type: "null" },
    {
      type: "object",
      additionalProperties: false,
      required: ["since", "until"],
      properties: { since: time, until: time },
    },
  ],
  description: "From when until when routers counted events; null if they never did.",
} as const;

export const topicUsageSchema = {
  $id: "topic-usage",
  type: "object",
  additionalProperties: false,
  required: ["externalId", "lastEventOn", "events", "counted"],
  properties: {
    externalId: { type: "string" },
    lastEventOn: {
      description: "When the last event was counted, up to ten minutes late; null if none was.",
      oneOf: [{ type: "null" }, time],
    },
    events: { ...count, description: "The number of events, an estimate, up to ten minutes late." },
    counted: countingSchema,
  },
} as const;

export type TopicUsageView = FromSchema<typeof topicUsageSchema>;
