import type { FromSchema } from "json-schema-to-ts";

import { eventSchema, pickResponseSchema } from "./pick.ts";
import { page, query } from "./query.ts";
import {
  count,
  flag,
  limited,
  list,
  named,
  nullableText,
  object,
  objects,
  orNull,
  text,
  time,
} from "./shapes.ts";

/** What the router has done with a record of the events topic. */
export const outcomes = ["matched", "unmatched", "rejected", "waiting"] as const;

const outcome = {
  enum: outcomes,
  description:
    "`waiting`: the router has not read it yet. `rejected`: it is not a valid event, so it is a dead letter. Otherwise whether a topic that the caller may see matches it now.",
} as const;

const { limit } = page(200, 50);

/** The query of `GET /api/topicsync/v1/events`. */
export const eventQuerySchema = query("event-query", {
  type: limited(1_000, "Only events with this `eventType`."),
  topic: limited(1_000, "Only events that match this topic now, by its external id or sys_id."),
  eventId: limited(1_000, "Only events with this `eventId`."),
  key: limited(1_000, "Only records with this key."),
  text: limited(
    1_000,
    "Only records whose key or value contains each of these words, separated by spaces, in upper or lower case.",
  ),
  outcome,
  from: time("Only records from this time on (RFC 3339), by their timestamps."),
  to: time("Only records before this time."),
  limit,
  after: limited(1_900, "Cursor: the `next` of the previous page."),
});

export type EventQuery = FromSchema<typeof eventQuerySchema>;

const place = {
  id: text(
    "Kafka topic, partition and offset, joined by hyphens, and the epoch from the second one on. Its copies have it in the header `topicsync.event`.",
  ),
  partition: count(),
  offset: count(),
  time: { type: ["string", "null"], format: "date-time", description: "The timestamp; null if it has none." },
  bytes: count("The size of key, value and headers."),
  eventId: nullableText(),
  eventType: nullableText(),
  outcome,
  "code?": text("Why it is rejected."),
  "replayOf?": text("The record is a replay of the dead letter with this id."),
} as const;

export const eventItemSchema = object({
  ...place,
  key: nullableText("The first 200 characters."),
  excerpt: text("The first 200 characters of the value."),
  topics: count("How many topics that the caller may see match it now."),
});

export type EventItem = FromSchema<typeof eventItemSchema>;

export const eventListSchema = named("event-list", {
  events: list(eventItemSchema, "Latest first."),
  read: count("How many records were read for this page."),
  left: count("About how many records are left for the next pages."),
  next: nullableText(
    "The cursor of the next page; null after the last. A page ends after three seconds or 20,000 records, so it may be short or empty and still have a next one.",
  ),
});

export type EventList = FromSchema<typeof eventListSchema>;

/** The query of `GET /api/topicsync/v1/events/{id}`. */
export const eventTraceQuerySchema = query("event-trace-query", {
  explain: limited(
    1_000,
    "External id of a topic. The response then also says which of its conditions the event meets.",
  ),
  to: time("Searches for an `eventId` before this time: a search ends after ten seconds."),
});

export type EventTraceQuery = FromSchema<typeof eventTraceQuerySchema>;

const { topics, explain } = pickResponseSchema.properties;

const picked = object({ total: count("The number of all topics that match."), topics });

/** Bytes, as text if they are UTF-8. */
const content = object({ "text?": text(), "base64?": text("Of bytes that are not UTF-8.") });

export type RecordContent = FromSchema<typeof content>;

const partition = { description: "The number of a partition.", ...count() } as const;

/** The response of `GET /api/topicsync/v1/events/{id}`. */
export const eventTraceSchema = named("event-trace", {
  ...place,
  key: { anyOf: [{ type: "null" }, content] },
  value: { anyOf: [{ type: "null" }, content] },
  headers: list(
    object({ name: text(), value: { anyOf: [{ type: "null" }, content] } }),
    "In their order. A name may occur more than once.",
  ),
  "faults?": objects("What is wrong with a rejected record.", { path: text(), message: text() }),
  waitsFor: count("How many records the router reads before it; 0 if it has read it."),
  now: { description: "The topics that match the event now.", ...picked },
  then: {
    description:
      "The topics that matched at the time of the record, with the versions that they had; null if there are too many topics to tell within ten seconds. The router matched the event when it read it, perhaps later.",
    anyOf: [{ type: "null" }, picked],
  },
  copies: objects("The copies that were found, by Kafka topic.", {
    externalId: nullableText("The topic that it was forwarded for; null for an event that no topic matched."),
    kafkaTopic: text(),
    partition,
    offset: count(),
  }),
  copiesComplete: flag(
    "Whether there can be no other copies: false while the event waits, and where more Kafka topics or records would have to be read than a request may read.",
  ),
  deadLetter: {
    description:
      "The dead letter of the record. Null if there is none, and for a caller whose right is limited to namespaces.",
    anyOf: orNull({
      id: text(),
      code: text(),
      message: text(),
      replays: count("How often it was replayed."),
    }),
  },
  "explain?": object("With ?explain=EXTERNALID: null for a topic that does not exist, or did not then.", {
    now: { anyOf: [{ type: "null" }, explain] },
    then: { anyOf: [{ type: "null" }, explain] },
  }),
});

export type EventTrace = FromSchema<typeof eventTraceSchema>;

/** The query of `POST /api/topicsync/v1/events`. */
export const sendEventsQuerySchema = query("send-events-query", {
  record: {
    type: "string",
    minLength: 1,
    description: 'Key and headers of the records, as JSON: `{"$key": "…", "$header": {"NAME": "…"}}`.',
  },
  sample: {
    type: "boolean",
    expected: "true or false",
    description:
      "Marks the records and their copies as samples: the header `topicsync.sample` names the caller.",
  },
  wait: {
    enum: ["routed"],
    description: "Waits for at most ten seconds until the router has read the events.",
  },
});

export type SendEventsQuery = FromSchema<typeof sendEventsQuerySchema>;

export const maxSentEvents = 500;

/** The body of `POST /api/topicsync/v1/events`. CloudEvents have other members. */
export const sendEventsBodySchema = {
  $id: "send-events-body",
  description: "An event, or a list of events.",
  anyOf: [eventSchema, { type: "array", minItems: 1, maxItems: maxSentEvents, items: { type: "object" } }],
} as const;

export const sentEventsSchema = named("sent-events", {
  events: objects("In the order of the request.", {
    id: place.id,
    partition,
    offset: count(),
    "outcome?": outcome,
    "topics?": count("With `wait`: how many topics match it now."),
  }),
});

export type SentEvents = FromSchema<typeof sentEventsSchema>;
