import type { FromSchema } from "json-schema-to-ts";

import { maxTopicTextCharacters, topicBodySchema } from "./topics/topic.ts";

const { externalId, namespace, headerQuery, contentQuery } = topicBodySchema.properties;
const count = { type: "integer", minimum: 0 } as const;
const text = { type: "string" } as const;
const optionalTime = { type: ["string", "null"], format: "date-time" } as const;

/** Limits of a preview over HTTP. */
export const maxImpactChanges = 100;
export const maxImpactEvents = 100_000;
const maxPartitions = 1_000;

const offset = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;

const rangeSchema = {
  type: "object",
  additionalProperties: false,
  required: ["partition", "from", "to"],
  properties: {
    partition: { type: "integer", minimum: 0, maximum: 2 ** 31 - 1 },
    from: { ...offset, description: "The first offset." },
    to: { ...offset, description: "The offset after the last one." },
  },
} as const;

/** The body of `POST /api/topicsync/v1/impact`. */
export const impactBodySchema = {
  $id: "impact-body",
  type: "object",
  additionalProperties: false,
  required: ["changes"],
  properties: {
    changes: {
      description: "The topics as they would be. They are compared with the stored ones by external id.",
      type: "array",
      minItems: 1,
      maxItems: maxImpactChanges,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["externalId"],
        properties: {
          externalId: { ...externalId, maxLength: maxTopicTextCharacters },
          namespace: { ...namespace, description: "By default that of the stored topic." },
          headerQuery,
          contentQuery,
          disable: { type: "boolean", description: "The topic would be disabled." },
        },
      },
    },
    last: {
      type: "integer",
      minimum: 1,
      maximum: maxImpactEvents,
      description: `Read the last records of the events topic, this many; ${maxImpactEvents} by default.`,
    },
    from: { type: "string", format: "date-time", description: "Read the records from this time on." },
    to: { type: "string", format: "date-time", description: "Read the records before this time." },
    offsets: {
      description: "Read these offsets, such as those of an earlier result, which is then repeated.",
      type: "array",
      minItems: 1,
      maxItems: maxPartitions,
      items: rangeSchema,
    },
    examples: {
      ...count,
      maximum: 5,
      description: "The maximum number of examples for each of `newly` and `noLonger`; 3 by default.",
    },
  },
  examples: [
    {
      changes: [
        {
          externalId: "7f1c2a34-5e0b-4a51-9a3c-2c9a6d0f2b11",
          headerQuery: "eventType=TroubleTicketCreateEvent",
          contentQuery: "troubleTicket.severity=Critical,Major",
        },
      ],
      last: 20_000,
    },
  ],
} as const;

export type ImpactBody = FromSchema<typeof impactBodySchema>;

const exampleSchema = {
  type: "object",
  additionalProperties: false,
  required: ["event", "time", "decidedBy"],
  properties: {
    event: { ...text, description: "Topic, partition and offset of its record, joined by hyphens." },
    time: { ...optionalTime, description: "The timestamp of its record." },
    decidedBy: {
      description:
        "The conditions that the other definition has and the event does not meet; if there are none, those that it meets. At most ten.",
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["version", "filter", "condition", "held", "found"],
        properties: {
          version: { enum: ["before", "after"] },
          filter: { enum: ["headerQuery", "contentQuery"] },
          condition: { ...text, description: "With its path from the root of the event; cut if it is long." },
          held: { type: "boolean" },
          found: {
            type: ["array", "null"],
            items: text,
            description:
              "The first five values that the event has there, cut if they are long. Null for callers who may not see what events contain.",
          },
        },
      },
    },
  },
} as const;

export type ImpactExample = FromSchema<typeof exampleSchema>;

const perDaySchema = {
  description:
    "By how much the copies of events grow, per day, extrapolated from the time of what was read; null if that is less than an hour.",
  type: ["object", "null"],
  additionalProperties: false,
  required: ["copies", "bytes"],
  properties: {
    copies: { type: "integer" },
    bytes: { type: "integer", description: "Of key, value and headers." },
  },
} as const;

export interface PerDay {
  readonly copies: number;
  readonly bytes: number;
}

const counts = {
  before: { ...count, description: "Events that match the stored filters." },
  after: { ...count, description: "Events that match the new filters." },
  newly: { ...count, description: "Events that match the new filters only." },
  noLonger: { ...count, description: "Events that match the stored filters only." },
  still: { ...count, description: "Events that match both." },
  perDay: perDaySchema,
} as const;
const countNames = ["before", "after", "newly", "noLonger", "still", "perDay"] as const;

/** What a change does to the events of a topic, as far as it follows from the filters. */
export const impactKinds = [
  ...["created", "removed"],
  ...["same", "widened", "narrowed", "disjoint", "changed", "undecided"],
] as const;

export type ImpactKind = (typeof impactKinds)[number];

const topicSchema = {
  type: "object",
  additionalProperties: false,
  required: ["externalId", "change", ...countNames, "examples"],
  properties: {
    externalId: text,
    change: {
      enum: impactKinds,
      description:
        "What follows from the filters alone: the `same` events, `widened` (only more), `narrowed` (only fewer), `disjoint` (none of the old ones), `changed` (others as well) or `undecided`; `created` and `removed` topics.",
    },
    ...counts,
    examples: {
      description: "Chosen by a hash of their offsets, so that they are the same ones each time.",
      type: "object",
      additionalProperties: false,
      required: ["newly", "noLonger"],
      properties: {
        newly: { type: "array", items: exampleSchema },
        noLonger: { type: "array", items: exampleSchema },
      },
    },
  },
} as const;

export type ImpactTopic = FromSchema<typeof topicSchema>;

const readSchema = {
  description: "What was read. The counts are exact for these records.",
  type: "object",
  additionalProperties: false,
  required: [
    ...["kafkaTopic", "topicId", "partitions", "firstTime", "lastTime"],
    ...["records", "events", "rejected", "rejectedExamples", "withoutRecord"],
  ],
  properties: {
    kafkaTopic: { type: ["string", "null"], description: "Null for events that are not from Kafka." },
    topicId: {
      type: ["string", "null"],
      description: "Kafka's id of the log; null where brokers have none.",
    },
    partitions: {
      description: "The offsets that were read, which can be sent as `offsets`.",
      type: "array",
      items: rangeSchema,
    },
    firstTime: { ...optionalTime, description: "The earliest timestamp of a record." },
    lastTime: { ...optionalTime, description: "The latest timestamp of a record." },
    records: count,
    events: count,
    rejected: {
      description: "How many records are not events, by code.",
      type: "object",
      additionalProperties: count,
    },
    rejectedExamples: {
      description: "Up to 20 of them, chosen like the examples of events.",
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["partition", "offset", "code"],
        properties: {
          partition: count,
          offset: { ...count, description: "Of a file, the line." },
          code: text,
        },
      },
    },
    withoutRecord: {
      ...count,
      description:
        "How many of the offsets have no record: those of aborted transactions and of the ends of transactions, and what compaction removed.",
    },
  },
} as const;

export type ImpactRead = FromSchema<typeof readSchema>;

export const impactResultSchema = {
  $id: "impact-result",
  type: "object",
  additionalProperties: false,
  required: ["complete", "read", "topics", "total"],
  properties: {
    complete: {
      type: "boolean",
      description: "False if the time was over before everything was read; `read` says how far it came.",
    },
    read: readSchema,
    topics: { description: "In the order of the changes.", type: "array", items: topicSchema },
    total: {
      description: "The sums over all topics: an event counts once for each of its topics.",
      type: "object",
      additionalProperties: false,
      required: countNames,
      properties: counts,
    },
  },
} as const;

export type ImpactResult = FromSchema<typeof impactResultSchema>;
