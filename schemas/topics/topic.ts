import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string", format: "text" } as const;
const optionalText = { type: ["string", "null"], format: "text" } as const;

/** Copies of events carry the external id in a header. Topics stored before this limit may exceed it. */
export const maxTopicTextCharacters = 1_000;

/**
 * A topic as it is sent: the body of `POST …/topic` and the value of an announcement alike (specification
 * 4.3).
 */
export const topicBodySchema = {
  $id: "topic-body",
  type: "object",
  additionalProperties: false,
  required: ["name", "externalId"],
  properties: {
    name: {
      ...text,
      minLength: 1,
      maxLength: maxTopicTextCharacters,
      description: "Name of the topic.",
    },
    externalId: {
      ...text,
      minLength: 1,
      maxLength: maxTopicTextCharacters,
      description: "Unique external identifier of the topic, such as a GUID.",
    },
    namespace: {
      ...optionalText,
      maxLength: maxTopicTextCharacters,
      description: 'Namespace of the topic; "", null or absent when there is none.',
    },
    headerQuery: {
      ...optionalText,
      description: "Filter on the members of the event; empty matches every event.",
    },
    contentQuery: {
      ...optionalText,
      description: "Filter inside the event's `event` object; empty matches every event.",
    },
  },
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

export type TopicBody = FromSchema<typeof topicBodySchema>;

/** The response to a created topic: exactly these six strings (specification 4.3). */
export const topicResponseSchema = {
  $id: "topic-response",
  type: "object",
  additionalProperties: false,
  required: ["contentQuery", "externalId", "headerQuery", "id", "name", "namespace"],
  properties: {
    contentQuery: { type: "string" },
    externalId: { type: "string" },
    headerQuery: { type: "string" },
    id: { type: "string", pattern: "^[0-9a-f]{32}$" },
    name: { type: "string" },
    namespace: { type: "string" },
  },
} as const;

export type TopicResponse = FromSchema<typeof topicResponseSchema>;
