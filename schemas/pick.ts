import type { FromSchema } from "json-schema-to-ts";

import { count, flag, integer, list, named, nullableText, object, objects, text, time } from "./shapes.ts";

/**
 * An event as sent by brokers (specification 2.4). Filters can use additional members as well. At least one
 * of `@type`, `eventType` and `event` must be there (`checkEvent`); null means that a member is missing.
 */
export const eventSchema = {
  $id: "event",
  type: "object",
  properties: {
    eventId: nullableText(),
    "@type": nullableText(),
    eventType: nullableText(),
    event: {
      type: ["object", "null"],
      description: "The object that `contentQuery` is evaluated against.",
    },
  },
  examples: [
    {
      eventId: "00001",
      "@type": "Event",
      eventType: "TroubleTicketCreateEvent",
      event: { troubleTicket: { severity: "Critical" } },
    },
  ],
} as const;

export type Event = FromSchema<typeof eventSchema>;

/** What filters see of the record that carries an event. */
export const eventRecordSchema = named("event-record", {
  "$key?": nullableText(),
  "$header?": {
    type: ["object", "null"],
    additionalProperties: { anyOf: [nullableText(), list(nullableText())] },
  },
  "$ce?": {
    type: ["object", "null"],
    additionalProperties: { type: ["string", "number", "boolean", "null"] },
  },
});

/** The query of `POST …/topic/pick`. Unknown members are ignored. */
export const pickQuerySchema = {
  $id: "pick-query",
  type: "object",
  properties: {
    explain: {
      type: "string",
      minLength: 1,
      description: "External id of a topic. The response then also explains each of its conditions.",
    },
    record: {
      type: "string",
      minLength: 1,
      description:
        'What filters see of the record that carries the event, as JSON: `{"$key": "…", "$header": {"NAME": "…"}, "$ce": {"type": "…"}}`, each optional.',
    },
    at: time(
      "Pick from the topics as they were at this time (RFC 3339), and explain the topic as it was. This reads all topics. If it takes more than ten seconds, the response is 503 `OVERLOADED`.",
    ),
  },
} as const;

export type PickQuery = FromSchema<typeof pickQuerySchema>;

/** The maximum number of values per path in an explanation. */
export const maxFoundValues = 100;

/** The response of `POST …/topic/pick`. */
export const pickResponseSchema = named("pick-response", {
  total: count("The number of all topics that match."),
  topics: objects("The first 1,000 that match, by external id, and fewer if they are large.", {
    id: text(),
    externalId: text(),
    name: text(),
    namespace: text(),
    "version?": integer("With `at`: the version that it had."),
    "egressTopic?": text("The Kafka topic that events are forwarded to. Only where a router is configured."),
    "egressFault?": text(
      "Why events cannot be forwarded to `egressTopic`: they become dead letters. Absent if they can.",
    ),
  }),
  "explain?": object("With ?explain=EXTERNALID: why that topic matches or not.", {
    externalId: text(),
    "version?": integer("With `at`: the version that it had."),
    matches: flag(),
    conditions: objects({
      filter: { enum: ["headerQuery", "contentQuery"] },
      condition: text("The condition, with its path from the root of the event."),
      held: flag(),
      found: {
        type: "array",
        items: text(),
        maxItems: maxFoundValues,
        description: "The first 100 values that the event has there; empty if it has none that can match.",
      },
      "note?": text("Why the values do not match, where they may look as if they did."),
    }),
  }),
});

export type PickResponse = FromSchema<typeof pickResponseSchema>;
