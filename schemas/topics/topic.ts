import type { FromSchema } from "json-schema-to-ts";

import { limited, named, nullableInput, object, text } from "../shapes.ts";

/** Copies of events carry the external id in a header. Topics stored before this limit may exceed it. */
export const maxTopicTextCharacters = 1_000;

/** The definition of a topic as it is sent. */
export const definitionSchema = object({
  name: limited(maxTopicTextCharacters, "Name of the topic."),
  externalId: limited(maxTopicTextCharacters, "Unique external identifier of the topic, such as a GUID."),
  "namespace?": {
    ...nullableInput(),
    maxLength: maxTopicTextCharacters,
    description: 'Namespace of the topic; "", null or absent when there is none.',
  },
  "headerQuery?": nullableInput("Filter on the members of the event; empty matches every event."),
  "contentQuery?": nullableInput("Filter inside the event's `event` object; empty matches every event."),
});

/** The body of `POST …/topic` and the value of an announcement alike (specification 4.3). */
export const topicBodySchema = {
  $id: "topic-body",
  ...definitionSchema,
  examples: [
    {
      name: "Critical trouble tickets",
      externalId: "7f1c2a34-5e0b-4a51-9a3c-2c9a6d0f2b11",
      namespace: "assurance",
      headerQuery: "eventType=TroubleTicketCreateEvent",
      contentQuery: "troubleTicket.severity=Critical",
    },
  ],
} as const;

/** The definition of a stored topic. */
export const definitionMembers = {
  name: text(),
  namespace: text(),
  headerQuery: text(),
  contentQuery: text(),
} as const;

export type TopicBody = FromSchema<typeof topicBodySchema>;

/** The response to a created topic: exactly these six strings (specification 4.3). */
export const topicResponseSchema = named("topic-response", {
  contentQuery: text(),
  externalId: text(),
  headerQuery: text(),
  id: { type: "string", pattern: "^[0-9a-f]{32}$" },
  name: text(),
  namespace: text(),
});

export type TopicResponse = FromSchema<typeof topicResponseSchema>;
