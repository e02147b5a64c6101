import { cloudEventSchema, contextAttributesSchema } from "../schemas/cloud-event.ts";
import { pushFeedbackSchema } from "../schemas/push-feedback.ts";
import { definedTopicSchema, deletedTopicSchema, topicNotificationSchema } from "../schemas/tmf688.ts";
import { topicBodySchema } from "../schemas/topic.ts";
import { publishedSchema } from "../src/lib/published-schema.ts";
import { attributePrefix } from "./announcements/envelopes/cloud-event.ts";

/** A kind of record of a Kafka topic, for people. Its schemas have an `$id`. */
export interface Message {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  /** What the key is. */
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
const event = {
  specversion: "1.0",
  id: "6e2f2b0e-9c53-4a0f-a8a9-5cf1a1c3c1f4",
  source: "/broker/admin",
  type: "com.example.topic.defined",
};

const { eventType, event: eventMember } = topicNotificationSchema.properties;

/** A notification, with the schema of its topic where that one leaves it open. */
const notificationSchema = ($id: string, names: readonly string[], topic: object) => ({
  ...topicNotificationSchema,
  $id,
  properties: {
    eventType: { ...eventType, enum: names },
    event: { ...eventMember, properties: { topic: publishedSchema(topic) } },
  },
});

const retiring = "TopicDeleteEvent";
const topicDefined = notificationSchema(
  "topic-defined-notification",
  eventType.enum.filter((name) => name !== retiring),
  definedTopicSchema,
);
const topicRetired = notificationSchema("topic-retired-notification", [retiring], deletedTopicSchema);

/** What CloudEvents carry: definitions and notifications. */
const carried = {
  $id: "carried",
  anyOf: [topicBodySchema, topicDefined, topicRetired].map(publishedSchema),
};

const eventSchema = {
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
    title: "A topic is defined",
    summary: "Creates the topic or changes it: the same JSON as the body of `POST …/topic`.",
    payload: topicBodySchema,
    examples: [{ payload: definition }],
  },
  {
    name: "tombstone",
    title: "A topic is retired",
    summary: "A record without a value, whose key is the external id. It needs its key.",
    payload: { $id: "tombstone", type: "null", description: "No value." },
    examples: [{ payload: null }],
  },
  {
    name: "topicDefinedNotification",
    title: "A topic is defined (TMF688)",
    summary:
      "Holds the whole topic, also where it tells of a change. `externalId`, or else `id`, is the external id.",
    payload: topicDefined,
    examples: [
      { payload: { eventType: "TopicCreateEvent", event: { topic: { id: externalId, ...withoutId } } } },
    ],
  },
  {
    name: "topicRetiredNotification",
    title: "A topic is retired (TMF688)",
    summary: "`externalId`, or else `id`, is the external id.",
    payload: topicRetired,
    examples: [{ payload: { eventType: retiring, event: { topic: { id: externalId } } } }],
  },
  {
    name: "structuredEvent",
    title: "A CloudEvent in structured mode",
    summary: "Carries a definition or a notification as its data.",
    contentType: structured,
    payload: eventSchema,
    examples: [{ headers: { "content-type": structured }, payload: { ...event, data: definition } }],
  },
  {
    name: "binaryEvent",
    title: "A CloudEvent in binary mode",
    summary: "A definition or a notification; the event's attributes are headers.",
    headers: eventHeadersSchema,
    payload: carried,
    examples: [
      {
        headers: Object.fromEntries(
          Object.entries(event).map(([name, value]) => [attributePrefix + name, value]),
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
  title: "A token is dead",
  summary: "Deactivates the token, unless it was registered again after the report.",
  key: "Anything: reports of the same key are applied in their order.",
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
