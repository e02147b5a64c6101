import { deadLetterHeadersSchema } from "./dead-letters/record.ts";
import { text } from "./shapes.ts";

/** The headers that a forwarded event has besides its own. */
export const routedEventHeader = {
  /** The external id of the topic. */
  topic: "topicsync.topic",
  /** `topic-partition-offset` of the event: the same for all of its copies. */
  event: "topicsync.event",
  /** On the copies of a backfill: its id. */
  backfill: "topicsync.backfill",
  /**
   * On the dead letter of an event, and on its replay: the external ids of the topics that it could not be
   * forwarded to, as a JSON array. Absent: to none of its topics.
   */
  undelivered: "topicsync.undelivered",
  /** Marks a sample. Anybody who may write events may set it, so it proves nothing. */
  sample: "topicsync.sample",
} as const;

const eventId = text(
  "Kafka topic, partition and offset of the event, joined by hyphens, and the epoch from the second one on: the same for all of its copies.",
);

/** The headers of an event that is forwarded to a topic. */
export const forwardedHeadersSchema = {
  $id: "forwarded-event-headers",
  type: "object",
  required: [routedEventHeader.topic, routedEventHeader.event],
  properties: {
    [routedEventHeader.topic]: text("The external id of the topic."),
    [routedEventHeader.event]: eventId,
    [routedEventHeader.backfill]: text("The id of the backfill that sent it; absent if the router did."),
  },
  additionalProperties: text("The headers of the event."),
} as const;

/** The headers of an event that no topic wants. */
export const unmatchedHeadersSchema = {
  $id: "unmatched-event-headers",
  type: "object",
  required: [routedEventHeader.event],
  properties: { [routedEventHeader.event]: eventId },
  additionalProperties: text("The headers of the event."),
} as const;

/** The headers of the dead letter of an event. */
export const eventDeadLetterHeadersSchema = {
  ...deadLetterHeadersSchema,
  $id: "event-dead-letter-headers",
  properties: {
    ...deadLetterHeadersSchema.properties,
    [routedEventHeader.undelivered]: text(
      "The external ids of the topics that the event could not be forwarded to, as a JSON array. Absent: it was forwarded to none of its topics.",
    ),
  },
} as const;
