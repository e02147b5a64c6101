import type { FromSchema } from "json-schema-to-ts";

import { maxTopicTextCharacters, definitionSchema } from "./topics/topic.ts";
import {
  atom,
  count,
  countsByCode,
  flag,
  integer,
  list,
  named,
  nullable,
  nullableText,
  nullableTime,
  object,
  objects,
  text,
  time,
} from "./shapes.ts";

const { externalId, namespace, headerQuery, contentQuery } = definitionSchema.properties;

/** Limits of a preview over HTTP. */
export const maxImpactChanges = 100;
export const maxImpactEvents = 100_000;
const maxPartitions = 1_000;

const offset = atom({ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const rangeSchema = object({
  partition: { type: "integer", minimum: 0, maximum: 2 ** 31 - 1 },
  from: offset("The first offset."),
  to: offset("The offset after the last one."),
});

/** The body of `POST /api/topicsync/v1/impact`. */
export const impactBodySchema = {
  ...named("impact-body", {
    changes: {
      description: "The topics as they would be. They are compared with the stored ones by external id.",
      type: "array",
      minItems: 1,
      maxItems: maxImpactChanges,
      items: object({
        externalId: { ...externalId, maxLength: maxTopicTextCharacters },
        "namespace?": { ...namespace, description: "By default that of the stored topic." },
        "headerQuery?": headerQuery,
        "contentQuery?": contentQuery,
        "disable?": flag("The topic would be disabled."),
      }),
    },
    "last?": {
      type: "integer",
      minimum: 1,
      maximum: maxImpactEvents,
      description: `Read the last records of the events topic, this many; ${maxImpactEvents} by default.`,
    },
    "from?": time("Read the records from this time on."),
    "to?": time("Read the records before this time."),
    "offsets?": {
      description: "Read these offsets, such as those of an earlier result, which is then repeated.",
      type: "array",
      minItems: 1,
      maxItems: maxPartitions,
      items: rangeSchema,
    },
    "examples?": {
      ...count(),
      maximum: 5,
      description: "The maximum number of examples for each of `newly` and `noLonger`; 3 by default.",
    },
  }),
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

const exampleSchema = object({
  event: text("Topic, partition and offset of its record, joined by hyphens."),
  time: nullableTime("The timestamp of its record."),
  decidedBy: objects(
    "The conditions that the other definition has and the event does not meet; if there are none, those that it meets. At most ten.",
    {
      version: { enum: ["before", "after"] },
      filter: { enum: ["headerQuery", "contentQuery"] },
      condition: text("With its path from the root of the event; cut if it is long."),
      held: flag(),
      found: {
        type: ["array", "null"],
        items: text(),
        description:
          "The first five values that the event has there, cut if they are long. Null for callers who may not see what events contain.",
      },
    },
  ),
});

export type ImpactExample = FromSchema<typeof exampleSchema>;

const perDaySchema = object(
  "By how much the copies of events grow, per day, extrapolated from the time of what was read; null if that is less than an hour.",
  {
    copies: integer(),
    bytes: integer("Of key, value and headers."),
  },
);

export type PerDay = FromSchema<typeof perDaySchema>;

const counts = {
  before: count("Events that match the stored filters."),
  after: count("Events that match the new filters."),
  newly: count("Events that match the new filters only."),
  noLonger: count("Events that match the stored filters only."),
  still: count("Events that match both."),
  perDay: nullable(perDaySchema),
} as const;

/** What a change does to the events of a topic, as far as it follows from the filters. */
export const impactKinds = [
  ...["created", "removed"],
  ...["same", "widened", "narrowed", "disjoint", "changed", "undecided"],
] as const;

export type ImpactKind = (typeof impactKinds)[number];

const topicSchema = object({
  externalId: text(),
  change: {
    enum: impactKinds,
    description:
      "What follows from the filters alone: the `same` events, `widened` (only more), `narrowed` (only fewer), `disjoint` (none of the old ones), `changed` (others as well) or `undecided`; `created` and `removed` topics.",
  },
  ...counts,
  examples: object("Chosen by a hash of their offsets, so that they are the same ones each time.", {
    newly: list(exampleSchema),
    noLonger: list(exampleSchema),
  }),
});

export type ImpactTopic = FromSchema<typeof topicSchema>;

const readSchema = object("What was read. The counts are exact for these records.", {
  kafkaTopic: nullableText("Null for events that are not from Kafka."),
  topicId: nullableText("Kafka's id of the log; null where brokers have none."),
  partitions: list(rangeSchema, "The offsets that were read, which can be sent as `offsets`."),
  firstTime: nullableTime("The earliest timestamp of a record."),
  lastTime: nullableTime("The latest timestamp of a record."),
  records: count(),
  events: count(),
  rejected: countsByCode("How many records are not events, by code."),
  rejectedExamples: objects("Up to 20 of them, chosen like the examples of events.", {
    partition: count(),
    offset: count("Of a file, the line."),
    code: text(),
  }),
  withoutRecord: count(
    "How many of the offsets have no record: those of aborted transactions and of the ends of transactions, and what compaction removed.",
  ),
});

export type ImpactRead = FromSchema<typeof readSchema>;

export const impactResultSchema = named("impact-result", {
  complete: flag("False if the time was over before everything was read; `read` says how far it came."),
  read: readSchema,
  topics: list(topicSchema, "In the order of the changes."),
  total: object("The sums over all topics: an event counts once for each of its topics.", counts),
});

export type ImpactResult = FromSchema<typeof impactResultSchema>;
