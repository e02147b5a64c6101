import type { FromSchema } from "json-schema-to-ts";

import { page, query, trueOrFalse } from "../query.ts";
import {
  atom,
  count,
  countsByCode,
  flag,
  list,
  named,
  nullableText,
  nullableTime,
  object,
  text,
  time,
} from "../shapes.ts";

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
  ...object({ topic: text(), partition: count(), offset: count() }),
  description: "The position of a Kafka record.",
} as const;

const epoch = count(
  "The epoch of the partition: absent for the first, 2 after the Kafka topic was deleted and created again.",
);

const source = { ...position, properties: { ...position.properties, epoch } } as const;

const outcome = object({
  status: {
    enum: ["unknown", "pending", "applied", "rejected"],
    description:
      "`unknown`: sending was not confirmed, or the Kafka topic has been deleted and created again since. `pending`: the sync has not reached it yet. `rejected`: it is a dead letter again.",
  },
  "code?": text("Why it was rejected."),
  "deadLetterId?": text("The id of the new dead letter."),
});

const replay = object({
  replayedAt: time(),
  sentTo: {
    ...object({ topic: text(), "partition?": count(), "offset?": count(), "epoch?": epoch }),
    description: "Its new position, without partition and offset while those are unknown.",
  },
  outcome,
});

export type ReplayView = FromSchema<typeof replay>;

const summaryProperties = {
  id: text(
    "Topic, partition and offset of the original record, and its epoch from the second one on. A dead letter that topicsync did not write has its own position instead.",
  ),
  time: nullableTime("When the record was written; null where that is unknown."),
  code: text("Why it was rejected; `OTHER` if topicsync did not write the dead letter."),
  message: text(),
  externalId: nullableText("The external id in the record, if any."),
  source: { description: "The position of the original record.", anyOf: [{ type: "null" }, source] },
} as const;

/** A dead letter in a list. */
export const deadLetterItemSchema = object({
  ...summaryProperties,
  replay: {
    description: "The last replay; null if there is none.",
    anyOf: [{ type: "null" }, replay],
  },
});

export type DeadLetterItem = FromSchema<typeof deadLetterItemSchema>;

const { limit, after } = page(1_000, 50);

/** The query of `GET /api/topicsync/v1/dead-letters`. */
export const deadLetterQuerySchema = query("dead-letter-query", {
  channel,
  code: list(
    { type: "string", minLength: 1, maxLength: 100 },
    "Only dead letters with one of these codes, separated by commas.",
  ),
  from: time(
    "Only dead letters of records that were written at this time or later (RFC 3339); none whose time is unknown.",
  ),
  to: time(
    "Only dead letters of records that were written at this time or earlier; none whose time is unknown.",
  ),
  replayed: trueOrFalse("Only dead letters that were replayed, or only those that were not."),
  limit,
  after: { ...after, maxLength: 200 },
});

/** The query with its defaults. */
export type DeadLetterQuery = FromSchema<typeof deadLetterQuerySchema>;

/** Dead letters of a code are counted up to this number. */
export const maxCounted = 10_000;

export const deadLetterListSchema = named("dead-letter-list", {
  channels: list({ enum: deadLetterChannels }, "The channels that the caller may read."),
  counts: countsByCode("How many per code, regardless of the query; 10,000 means 10,000 or more."),
  total: count("The sum of `counts`."),
  unlisted: count(
    "About how many dead letters are neither counted nor listed yet, because they are still being read; 0 unless there are very many new ones.",
  ),
  deadLetters: list(deadLetterItemSchema, "Newest first."),
  next: nullableText(
    "The cursor of the next page; null after the last. With `replayed`, a page may be short or empty and still have a next one.",
  ),
});

export type DeadLetterList = FromSchema<typeof deadLetterListSchema>;

/** The query of `GET /api/topicsync/v1/dead-letters/{id}`. */
export const deadLetterChannelQuerySchema = query("dead-letter-channel-query", { channel });

export type DeadLetterChannelQuery = FromSchema<typeof deadLetterChannelQuerySchema>;

const base64OrNull = atom({ type: ["string", "null"], contentEncoding: "base64" });

/** Everything about a dead letter. */
export const deadLetterSchema = named("dead-letter", {
  ...summaryProperties,
  details: list(
    object({
      path: text("A JSON Pointer (RFC 6901); empty for the whole value."),
      message: text(),
    }),
    "What is wrong, with the path of each fault.",
  ),
  position: { ...position, description: "The position in the dead-letter topic." },
  copies: count("How many times the dead-letter topic contains it: after a crash it may be sent twice."),
  key: base64OrNull("The key in base64; null if there is none."),
  value: base64OrNull("The value in base64; null if there is none."),
  headers: list(
    object({ name: text(), value: base64OrNull() }),
    "The headers of the original record in their order, with values in base64; null for a header without a value. A name may occur more than once.",
  ),
  contentHidden: flag(
    "Whether key, value, headers and everything that may quote them are left out, because the caller lacks a right.",
  ),
  omitted: nullableText("Why the value is missing; null if it is not."),
  replayOf: nullableText("The id of the dead letter that the record was a replay of."),
  replays: list(replay, "Oldest first."),
});

export type DeadLetterView = FromSchema<typeof deadLetterSchema>;
