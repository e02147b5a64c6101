import type { FromSchema } from "json-schema-to-ts";

import { count, named, orNull, text, time } from "../shapes.ts";

/** A time without events. */
export const durationPattern = "^[1-9][0-9]{0,3}[smhd]$";
export const durationRule = "a number of at most four digits with its unit, such as 30d, 12h or 45m";

/** When events were counted; null if never. */
export const countingSchema = {
  oneOf: orNull({ since: time(), until: time() }),
  description: "From when until when routers counted events; null if they never did.",
} as const;

export const topicUsageSchema = named("topic-usage", {
  externalId: text(),
  lastEventOn: {
    description: "When the last event was counted, up to ten minutes late; null if none was.",
    oneOf: [{ type: "null" }, time()],
  },
  events: count("The number of events, an estimate, up to ten minutes late."),
  counted: countingSchema,
});

export type TopicUsageView = FromSchema<typeof topicUsageSchema>;
