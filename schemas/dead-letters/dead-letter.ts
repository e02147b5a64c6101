import type { FromSchema } from "json-schema-to-ts";

import { pageCursor, pageSize, trueOrFalse } from "../query.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;
const time = { type: ["string", "null"], format: "date-time" } as const;

/** Each consumed Kafka topic has dead letters of its own. */
export const deadLetterChannels = ["announcements", "push-feedback", "events"] as const;

export type DeadLetterChannel = (typeof deadLetterChannels)[number];

export const channel = {
  enum: deadLetterChannels,
  default: "announcements",
  description:
    "The consumed Kafka topic that the dead letters came from. Those of push feedback contain push tokens and also require the right `installations.read-tokens`; the content of events requires `admin`. Neither have a namespace, so that the right must not be limited.",
} as const;

const position = {
  type: "object",
  additionalProperties: false,
  required: ["topic", "partition", "offset"],
  properties: { topic: text, partition: count, offset: count },
  description: "The position of a Kafka record.",
} as const;

const source = {
  ...position,
  properties: {
    ...position.properties,
    epoch: {
      ...count,
      description:
        "The epoch of the partition: absent for the first, 2 after the Kafka topic was deleted and created again.",
    },
  },
} as const;

const outcome = {
  type: "object",
  additionalProperties: false,
  required: ["status"],
  properties: {
    status: {
      enum: ["unknown", "pending", "applied", "rejected"],
      description:
        "`unknown`: sending was not confirmed, or the Kafka topic has been deleted and created again since. `pending`: the sync has not reached it yet. `rejected`: it is a dead letter again.",
    },
    code: { ...text, description: "Why it was rejected." },
    deadLetterId: { ...text, description: "The id of the new dead letter." },
  },
} as const;

const replay = {
  type: "object",
  additionalProperties: false,
  required: ["replayedAt", "sentTo", "outcome"],
  properties: {
    replayedAt: { type: "string", format: "date-time" },
    sentTo: {
      type: "object",
      additionalProperties: false,
      required: ["topic"],
      properties: source.properties,
      description: "Its new position, without partition and offset while those are unknown.",
    },
    outcome,
  },
} as const;

export type ReplayView = FromSchema<typeof replay>;

const summaryProperties = {
  id: {
    ...text,
    description:
      "Topic, partition and offset of the original record, and its epoch from the second one on. A dead letter that topicsync did not write has its own position instead.",
  },
  time: { ...time, description: "When the record was written; null where that is unknown." },
  code: { ...text, description: "Why it was rejected; `OTHER` if topicsync did not write the dead letter." },
  message: text,
  externalId: { type: ["string", "null"], description: "The external id in the record, if any." },
  source: { description: "The position of the original record.", anyOf: [{ type: "null" }, source] },
} as const;

/** A dead letter in a list. */
export const deadLetterItemSchema = {
  type: "object",
  additionalProperties: false,
  required: ["id", "time", "code", "message", "externalId", "source", "replay"],
  properties: {
    ...summaryProperties,
    replay: {
      description: "The last replay; null if there is none.",
      anyOf: [{ type: "null" }, replay],
    },
  },
} as const;

export type DeadLetterItem = FromSchema<typeof deadLetterItemSchema>;

/** The query of `GET /api/topicsync/v1/dead-letters`. */
export const deadLetterQuerySchema = {
  $id: "dead-letter-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    channel,
    code: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 100 },
      description: "Only dead letters with one of these codes, separated by commas.",
    },
    from: {
      type: "string",
      format: "date-time",
      description:
        "Only dead letters of records that were written at this time or later (RFC 3339); none whose time is unknown.",
    },
    to: {
      type: "string",
      format: "date-time",
      description:
        "Only dead letters of records that were written at this time or earlier; none whose time is unknown.",
    },
    replayed: {
      ...trueOrFalse,
      description: "Only dead letters that were replayed, or only those that were not.",
    },
    limit: pageSize(1_000, 50),
    after: { ...pageCursor, maxLength: 200 },
  },
} as const;

/** The query with its defaults. */
export type DeadLetterQuery = FromSchema<typeof deadLetterQuerySchema>;

export const deadLetterListSchema = {
  $id: "dead-letter-list",
  type: "object",
  additionalProperties: false,
  required: ["channels", "counts", "total", "unlisted", "deadLetters", "next"],
  properties: {
    channels: {
      type: "array",
      items: { enum: deadLetterChannels },
      description: "The channels that the caller may read.",
    },
    counts: {
      type: "object",
      additionalProperties: count,
      description: "The number of dead letters per code, regardless of the query.",
    },
    total: { ...count, description: "The number of all dead letters." },
    unlisted: {
      ...count,
      description:
        "About how many dead letters are neither counted nor listed yet, because they are still being read; 0 unless there are very many new ones.",
    },
    deadLetters: { type: "array", items: deadLetterItemSchema, description: "Newest first." },
    next: {
      type: ["string", "null"],
      description:
        "The cursor of the next page; null after the last. With `replayed`, a page may be short or empty and still have a next one.",
    },
  },
} as const;

export type DeadLetterList = FromSchema<typeof deadLetterListSchema>;

/** The query of `GET /api/topicsync/v1/dead-letters/{id}`. */
export const deadLetterChannelQuerySchema = {
  $id: "dead-letter-channel-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: { channel },
} as const;

export type DeadLetterChannelQuery = FromSchema<typeof deadLetterChannelQuerySchema>;

const base64OrNull = { type: ["string", "null"], contentEncoding: "base64" } as const;

/** Everything about a dead letter. */
export const deadLetterSchema = {
  $id: "dead-letter",
  type: "object",
  additionalProperties: false,
  required: [
    "id",
    "time",
    "code",
    "message",
    "externalId",
    "source",
    "details",
    "position",
    "copies",
    "key",
    "value",
    "headers",
    "contentHidden",
    "omitted",
    "replayOf",
    "replays",
  ],
  properties: {
    ...summaryProperties,
    details: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "message"],
        properties: {
          path: { ...text, description: "A JSON Pointer (RFC 6901); empty for the whole value." },
          message: text,
        },
      },
      description: "What is wrong, with the path of each fault.",
    },
    position: { ...position, description: "The position in the dead-letter topic." },
    copies: {
      ...count,
      description: "How many times the dead-letter topic contains it: after a crash it may be sent twice.",
    },
    key: { ...base64OrNull, description: "The key in base64; null if there is none." },
    value: { ...base64OrNull, description: "The value in base64; null if there is none." },
    headers: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "value"],
        properties: { name: text, value: base64OrNull },
      },
      description:
        "The headers of the original record in their order, with values in base64; null for a header without a value. A name may occur more than once.",
    },
    contentHidden: {
      type: "boolean",
      description:
        "Whether key, value, headers and everything that may quote them are left out, because the caller lacks a right.",
    },
    omitted: { type: ["string", "null"], description: "Why the value is missing; null if it is not." },
    replayOf: {
      type: ["string", "null"],
      description: "The id of the dead letter that the record was a replay of.",
    },
    replays: { type: "array", items: replay, description: "Oldest first." },
  },
} as const;

export type DeadLetterView = FromSchema<typeof deadLetterSchema>;
