import { publishSchema } from "@topicsync/lib/published-schema";
import { cloudEventSchema, contextAttributesSchema } from "../schemas/cloud-event.ts";
import { pushFeedbackSchema } from "../schemas/push-feedback.ts";
import { eventSchema } from "../schemas/pick.ts";
import { forwardedHeadersSchema, unmatchedHeadersSchema } from "../schemas/routed-event.ts";
import { definedTopicSchema, deletedTopicSchema, topicNotificationSchema } from "../schemas/tmf688.ts";
import { topicBodySchema } from "../schemas/topics/topic.ts";
import { attributePrefix } from "../consumers/envelopes/cloud-event.ts";

/** A kind of record of a Kafka topic. Its schemas have an `$id`. */
export interface Message {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** Describes the key. */
  readonly key: string;
  /** JSON when absent. */
  readonly contentType?: string;
  readonly headers?: object;
  readonly payload: object;
  readonly examples: readonly {
    readonly headers?: Readonly<Record<string, string>>;
    readonly payload: unknown;
  }[];
}

const [definition] = topicBodySchema.examples;
const { externalId, ...withoutId } = definition;
const attributes = {
  specversion: "1.0",
  id: "6e2f2b0e-9c53-4a0f-a8a9-5cf1a1c3c1f4",
  source: "/broker/admin",
  type: "com.example.topic.defined",
};

const { eventType, event: eventMember } = topicNotificationSchema.properties;

/** A notification with the schema of its topic. */
const notificationSchema = ($id: string, names: readonly string[], topic: object) => ({
  ...topicNotificationSchema,
  $id,
  properties: {
    eventType: { ...eventType, enum: names },
    event: { ...eventMember, properties: { topic: publishSchema(topic) } },
  },
});

const retiring = "TopicDeleteEvent";
const topicDefined = notificationSchema(
  "topic-defined-notification",
  eventType.enum.filter((name) => name !== retiring),
  definedTopicSchema,
);
const topicRetired = notificationSchema("topic-retired-notification", [retiring], deletedTopicSchema);

/** The data of a CloudEvent: a definition or a notification. */
const carried = {
  $id: "carried",
  anyOf: [topicBodySchema, topicDefined, topicRetired].map(publishSchema),
};

const structuredSchema = {
  ...cloudEventSchema,
  properties: { ...cloudEventSchema.properties, data: carried },
};

const eventHeadersSchema = {
  ...contextAttributesSchema,
  required: contextAttributesSchema.required.map((name) => attributePrefix + name),
  properties: Object.fromEntries(
    Object.entries(contextAttributesSchema.properties).map(([name, schema]) =>
      name === "datacontenttype" ? ["content-type", schema] : [attributePrefix + name, schema],
    ),
  ),
};

const structured = "application/cloudevents+json";

/** Every form of an announcement; decode.ts tells them apart. */
const announcements: readonly Omit<Message, "key">[] = [
  {
    name: "definition",
    title: "Topic definition",
    summary: "Creates or changes the topic. The same JSON as the body of `POST …/topic`.",
    payload: topicBodySchema,
    examples: [{ payload: definition }],
  },
  {
    name: "tombstone",
    title: "Tombstone",
    summary: "Retires the topic whose external id is the key. The record has no value.",
    payload: { $id: "tombstone", type: "null", description: "No value." },
    examples: [{ payload: null }],
  },
  {
    name: "topicDefinedNotification",
    title: "Topic definition (TMF688)",
    summary: "Contains the whole topic, even for a change. The external id is `externalId`, or else `id`.",
    payload: topicDefined,
    examples: [
      { payload: { eventType: "TopicCreateEvent", event: { topic: { id: externalId, ...withoutId } } } },
    ],
  },
  {
    name: "topicRetiredNotification",
    title: "Topic retirement (TMF688)",
    summary: "Retires the topic. The external id is `externalId`, or else `id`.",
    payload: topicRetired,
    examples: [{ payload: { eventType: retiring, event: { topic: { id: externalId } } } }],
  },
  {
    name: "structuredEvent",
    title: "CloudEvent in structured mode",
    summary: "Contains a definition or a notification as its data.",
    contentType: structured,
    payload: structuredSchema,
    examples: [{ headers: { "content-type": structured }, payload: { ...attributes, data: definition } }],
  },
  {
    name: "binaryEvent",
    title: "CloudEvent in binary mode",
    summary: "A definition or a notification, with the event's attributes as headers.",
    headers: eventHeadersSchema,
    payload: carried,
    examples: [
      {
        headers: Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [attributePrefix + name, value]),
        ),
        payload: definition,
      },
    ],
  },
];

/** Every way to announce a topic. */
export const announcementMessages: readonly Message[] = announcements.map((one) => ({
  ...one,
  key: "The external id.",
}));

/** A report of a dead token. */
export const feedbackMessage: Message = {
  name: "pushFeedback",
  title: "Dead token report",
  summary: "Deactivates the token, unless it was registered again after the report.",
  key: "Any text. Reports with the same key are applied in order.",
  payload: pushFeedbackSchema,
  examples: [
    {
      payload: {
        application: "Mobile Agent",
        platform: "ios",
        token: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0",
        reason: "Unregistered",
        reportedOn: "2026-11-21T08:30:00Z",
      },
    },
  ],
};

const [exampleEvent] = eventSchema.examples;
const ticketCreated = { ...attributes, type: "com.example.ticket.created" };
const eventKey = "Any text. Events with the same key are forwarded in order.";

/** Every form of an event that is forwarded. */
export const eventMessages: readonly Message[] = [
  {
    name: "event",
    title: "Event (TMF688)",
    summary: "Forwarded to every topic whose filters it meets.",
    key: eventKey,
    payload: eventSchema,
    examples: [{ payload: exampleEvent }],
  },
  {
    name: "eventInStructuredMode",
    title: "Event in a CloudEvent in structured mode",
    summary: "Contains the event as its data. The whole CloudEvent is forwarded.",
    key: eventKey,
    contentType: structured,
    payload: {
      ...cloudEventSchema,
      $id: "event-in-structured-mode",
      properties: { ...cloudEventSchema.properties, data: publishSchema(eventSchema) },
    },
    examples: [
      { headers: { "content-type": structured }, payload: { ...ticketCreated, data: exampleEvent } },
    ],
  },
  {
    name: "eventInBinaryMode",
    title: "Event in a CloudEvent in binary mode",
    summary: "The event, with the CloudEvent's attributes as headers.",
    key: eventKey,
    headers: eventHeadersSchema,
    payload: eventSchema,
    examples: [
      {
        headers: Object.fromEntries(
          Object.entries(ticketCreated).map(([name, value]) => [attributePrefix + name, value]),
        ),
        payload: exampleEvent,
      },
    ],
  },
];

const originalEvent = { $id: "forwarded-value", description: "The value of the event, byte for byte." };

export const forwardedMessage: Message = {
  name: "forwardedEvent",
  title: "Forwarded event",
  summary: "The original event (value, key, headers, timestamp) with the topic that it belongs to.",
  key: "The key of the event.",
  headers: forwardedHeadersSchema,
  payload: originalEvent,
  examples: [],
};

export const unmatchedMessage: Message = {
  name: "unmatchedEvent",
  title: "Event of no topic",
  summary: "The original event (value, key, headers, timestamp).",
  key: "The key of the event.",
  headers: unmatchedHeadersSchema,
  payload: originalEvent,
  examples: [],
};
