import { getSchemaName, publishSchema } from "@topicsync/lib/published-schema";
import { deadLetterHeadersSchema } from "../schemas/dead-letters/record.ts";
import { eventDeadLetterHeadersSchema } from "../schemas/routed-event.ts";
import { settingsSchema, type SettingName } from "../schemas/settings.ts";
import { version } from "../src/config/version.ts";
import {
  announcementMessages,
  eventMessages,
  feedbackMessage,
  forwardedMessage,
  unmatchedMessage,
  type Message,
} from "./asyncapi-messages.ts";

/** A Kafka topic that the service reads or writes, and its messages. */
export interface Channel {
  readonly name: string;
  /** The Kafka topic: the default of its setting, or a parameter if it has none. */
  readonly address: string;
  readonly parameters?: Readonly<Record<string, { readonly description: string }>>;
  readonly setting: SettingName;
  /** What this service does with the records. */
  readonly action: "receive" | "send";
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly kafka: object;
  readonly messages: readonly Message[];
}

const feedbackTopic = {
  pushFeedbackTopic: { description: "Value of KAFKA_PUSH_FEEDBACK_TOPIC, which has no default." },
};

const eventsTopic = {
  eventsTopic: { description: "Value of KAFKA_EVENTS_TOPIC, which has no default." },
};

const deadLetter: Message = {
  name: "deadLetter",
  title: "Rejected record",
  summary: "The original record (value, key, headers, timestamp), with the reason in additional headers.",
  key: "The key of the original record.",
  headers: deadLetterHeadersSchema,
  payload: { $id: "rejected-value", description: "The original value; null for a tombstone." },
  examples: [],
};

const eventDeadLetter: Message = {
  ...deadLetter,
  name: "eventDeadLetter",
  title: "Event that could not be forwarded",
  headers: eventDeadLetterHeadersSchema,
};

export const channels: readonly Channel[] = [
  {
    name: "announcements",
    address: settingsSchema.properties.KAFKA_ANNOUNCEMENTS_TOPIC.default,
    setting: "KAFKA_ANNOUNCEMENTS_TOPIC",
    action: "receive",
    operation: "applyAnnouncements",
    summary: "Definitions of event topics",
    description:
      "Announcements, applied exactly once and in order. The topic is created with one partition, which gives one order. " +
      "Every value may have the frame of Confluent's serializers: a zero byte and a schema id (four bytes, big-endian) before the JSON. " +
      "The key is optional except for tombstones. If present, it must be the external id.",
    kafka: {
      partitions: 1,
      topicConfiguration: { "cleanup.policy": ["compact"], "delete.retention.ms": 2_592_000_000 },
    },
    messages: announcementMessages,
  },
  {
    name: "deadLetters",
    address: settingsSchema.properties.KAFKA_DEAD_LETTER_TOPIC.default,
    setting: "KAFKA_DEAD_LETTER_TOPIC",
    action: "send",
    operation: "keepDeadLetters",
    summary: "Rejected announcements",
    description:
      "A record that cannot be applied is written here before the stored position moves past it, so nothing is lost.",
    kafka: {},
    messages: [deadLetter],
  },
  {
    name: "pushFeedback",
    address: "{pushFeedbackTopic}",
    parameters: feedbackTopic,
    setting: "KAFKA_PUSH_FEEDBACK_TOPIC",
    action: "receive",
    operation: "applyPushFeedback",
    summary: "Reports of dead push tokens",
    description:
      "Reports from push services, applied exactly once: the token is deactivated with the reason. Not read if the setting is unset.",
    kafka: {},
    messages: [feedbackMessage],
  },
  {
    name: "pushFeedbackDeadLetters",
    address: "{pushFeedbackTopic}.dead-letter",
    parameters: feedbackTopic,
    setting: "KAFKA_PUSH_FEEDBACK_TOPIC",
    action: "send",
    operation: "keepFeedbackDeadLetters",
    summary: "Rejected reports",
    description: "Written like rejected announcements.",
    kafka: {},
    messages: [deadLetter],
  },
  {
    name: "events",
    address: "{eventsTopic}",
    parameters: eventsTopic,
    setting: "KAFKA_EVENTS_TOPIC",
    action: "receive",
    operation: "forwardEvents",
    summary: "Events",
    description:
      "Events, forwarded to every topic whose filters they meet: exactly once for readers with isolation.level=read_committed, and in order. " +
      "Every value may have the frame of Confluent's serializers. Not read if the setting is unset.",
    kafka: {},
    messages: eventMessages,
  },
  {
    name: "eventDeadLetters",
    address: "{eventsTopic}.dead-letter",
    parameters: eventsTopic,
    setting: "KAFKA_EVENTS_DEAD_LETTER_TOPIC",
    action: "send",
    operation: "keepEventDeadLetters",
    summary: "Events that could not be forwarded",
    description:
      "Written in the transaction that moves the group past the event, so there is one for each event. The address is the default of the setting.",
    kafka: {},
    messages: [eventDeadLetter],
  },
  {
    name: "egress",
    address: settingsSchema.properties.KAFKA_EGRESS_TOPIC.default,
    setting: "KAFKA_EGRESS_TOPIC",
    action: "send",
    operation: "sendForwardedEvents",
    summary: "Events of the topics",
    description:
      "A copy of an event for each topic that it belongs to. With the placeholders {externalId} and {namespace} in the setting, there is a Kafka topic for each topic or namespace.",
    kafka: {},
    messages: [forwardedMessage],
  },
  {
    name: "unmatched",
    address: "{unmatchedTopic}",
    parameters: {
      unmatchedTopic: { description: "Value of KAFKA_UNMATCHED_TOPIC, which has no default." },
    },
    setting: "KAFKA_UNMATCHED_TOPIC",
    action: "send",
    operation: "sendUnmatchedEvents",
    summary: "Events that no topic wants",
    description: "Events that meet the filters of no topic. Not written if the setting is unset.",
    kafka: {},
    messages: [unmatchedMessage],
  },
];

/** What KAFKA_SASL_MECHANISM and KAFKA_TLS_CERT select; a broker may require none of them. */
const securitySchemes = {
  plain: { type: "plain" },
  scramSha256: { type: "scramSha256" },
  scramSha512: { type: "scramSha512" },
  certificate: { type: "X509" },
};
const security = Object.keys(securitySchemes).map((name) => ({
  $ref: `#/components/securitySchemes/${name}`,
}));

/** Describes what the service reads from and writes to Kafka, as an AsyncAPI 3.0 document. */
export function asyncApiDocument(): object {
  const messages = [...new Set(channels.flatMap((channel) => channel.messages))];
  const schemas = messages.flatMap(({ headers, payload }) => [payload, ...(headers ? [headers] : [])]);
  return {
    asyncapi: "3.0.0",
    info: {
      title: "topicsync",
      version,
      description:
        "What topicsync reads from and writes to Kafka. The names of the Kafka topics are the defaults of the settings.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    defaultContentType: "application/json",
    servers: {
      kafka: {
        host: "{broker}",
        protocol: "kafka",
        security,
        variables: {
          broker: { default: "127.0.0.1:9092", description: "One of KAFKA_BROKERS: `host:port`." },
        },
      },
    },
    channels: Object.fromEntries(channels.map((channel) => [channel.name, described(channel)])),
    operations: Object.fromEntries(
      channels.map(({ operation, action, name, summary }) => [
        operation,
        { action, summary, channel: { $ref: `#/channels/${name}` }, security },
      ]),
    ),
    components: {
      securitySchemes,
      messages: Object.fromEntries(messages.map((message) => [message.name, published(message)])),
      schemas: Object.fromEntries(schemas.map((schema) => [getSchemaName(schema), publishSchema(schema)])),
    },
  };
}

const described = ({
  address,
  parameters,
  setting,
  summary,
  description,
  kafka,
  messages,
}: Channel): object => ({
  address,
  ...(parameters === undefined ? {} : { parameters }),
  summary,
  description: `${description} Setting: ${setting}.`,
  messages: Object.fromEntries(messages.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }])),
  ...(Object.keys(kafka).length === 0 ? {} : { bindings: { kafka } }),
});

const published = ({
  name,
  title,
  summary,
  key,
  contentType,
  headers,
  payload,
  examples,
}: Message): object => ({
  name,
  title,
  summary,
  ...(contentType === undefined ? {} : { contentType }),
  ...(headers === undefined ? {} : { headers: reference(headers) }),
  payload: reference(payload),
  bindings: { kafka: { key: { type: ["string", "null"], description: key } } },
  ...(examples.length === 0 ? {} : { examples }),
});

const reference = (schema: object): object => ({ $ref: `#/components/schemas/${getSchemaName(schema)}` });
