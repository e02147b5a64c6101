import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;
const time = { type: ["string", "null"], format: "date-time" } as const;

/** What was refused has a mailbox for each Kafka topic that is read. */
export const deadLetterChannels = ["announcements", "push-feedback"] as const;

export type DeadLetterChannel = (typeof deadLetterChannels)[number];

const channel = {
  enum: deadLetterChannels,
  default: "announcements",
  description:
    "Which Kafka topic the letters were refused from. Those of the push feedback have push tokens in them: they need the role `push_admin` besides.",
} as const;

const place = {
  type: "object",
  additionalProperties: false,
  required: ["topic", "partition", "offset"],
  properties: { topic: text, partition: count, offset: count },
  description: "A record of a Kafka topic.",
} as const;

const sourcePlace = {
  ...place,
  properties: {
    ...place.properties,
    epoch: {
      ...count,
      description:
        "The epoch of the partition's log: absent for the first, 2 after the Kafka topic was deleted and created again.",
    },
  },
} as const;

const outcome = {
  type: "object",
  additionalProperties: false,
  required: ["kind"],
  properties: {
    kind: {
      enum: ["perhaps replayed", "waiting", "taken", "refused again"],
      description:
        "`perhaps replayed`: it was about to be sent and never confirmed, or its Kafka topic was deleted and created again since. `waiting`: the sync has not come to it yet.",
    },
    code: { ...text, description: "Why it was refused again." },
    letter: { ...text, description: "The id of the letter that it became then." },
  },
} as const;

const replay = {
  type: "object",
  additionalProperties: false,
  required: ["on", "sentTo", "outcome"],
  properties: {
    on: { type: "string", format: "date-time" },
    sentTo: {
      type: "object",
      additionalProperties: false,
      required: ["topic"],
      properties: sourcePlace.properties,
      description: "Where it lies; partition and offset are absent while that is not known.",
    },
    outcome,
  },
} as const;

export type ReplayView = FromSchema<typeof replay>;

const letterFacts = {
  id: {
    ...text,
    description:
      "Topic, partition and offset of what was refused, from the second epoch of the log on the epoch as well; or those of the letter where somebody else wrote it.",
  },
  time: { ...time, description: "When it was announced; null where that is not known." },
  code: { ...text, description: "Why it was refused; OTHER: somebody else wrote the letter." },
  message: text,
  externalId: { type: ["string", "null"], description: "Of the topic that it speaks of, where it says so." },
  source: { description: "Where it came from.", anyOf: [{ type: "null" }, sourcePlace] },
} as const;

const letterItem = {
  type: "object",
  additionalProperties: false,
  required: ["id", "time", "code", "message", "externalId", "source", "replay"],
  properties: {
    ...letterFacts,
    replay: {
      description: "The last one; null when it was never replayed.",
      anyOf: [{ type: "null" }, replay],
    },
  },
} as const;

export type DeadLetterItem = FromSchema<typeof letterItem>;

const truth = { enum: ["true", "false"] } as const;

/** The query of `GET /api/topicsync/v1/dead-letters`: texts, as they stand in a URL. */
export const deadLetterQuerySchema = {
  $id: "dead-letter-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    channel,
    code: { type: "string", minLength: 1, maxLength: 100, description: "Only those refused with this code." },
    replayed: { ...truth, description: "Only those that were replayed, or only those that were not." },
    limit: {
      type: "string",
      pattern: "^(?:[1-9]|[1-9][0-9]|1[0-9][0-9]|200)$",
      expected: "a whole number from 1 to 200",
      default: "50",
      description: "How many letters a page has at most, 1 to 200.",
    },
    after: {
      type: "string",
      pattern: "^[0-9]{1,16}-[0-9]{1,10}-[0-9]{1,16}$",
      expected: "the `next` of another page",
      description: "The page behind this cursor: the `next` of the one before.",
    },
  },
} as const;

/** The query; `FromSchema` takes a member with a default for one that is always there. */
export type DeadLetterQueryTexts = FromSchema<typeof deadLetterQuerySchema>;

/** The answer to it. */
export const deadLetterListSchema = {
  $id: "dead-letter-list",
  type: "object",
  additionalProperties: false,
  required: ["channels", "counts", "all", "older", "letters", "next"],
  properties: {
    channels: {
      type: "array",
      items: { enum: deadLetterChannels },
      description: "Those that the caller may ask for.",
    },
    counts: {
      type: "object",
      additionalProperties: count,
      description: "How many letters there are of each code, whatever is asked for.",
    },
    all: { ...count, description: "How many there are altogether." },
    older: {
      ...count,
      description:
        "About how many older letters lie in the topic that are neither counted nor listed: the newest 50,000 are.",
    },
    letters: { type: "array", items: letterItem, description: "The newest first." },
    next: {
      type: ["string", "null"],
      description:
        "Where the next page begins; null behind the last. With `replayed` a page may be short, or empty, and still have one.",
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

const base64 = { type: "string", contentEncoding: "base64" } as const;
const base64OrNull = { type: ["string", "null"], contentEncoding: "base64" } as const;

/** The answer to it: everything about a letter. */
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
    "at",
    "copies",
    "key",
    "value",
    "headers",
    "omitted",
    "replayOf",
    "replays",
  ],
  properties: {
    ...letterFacts,
    details: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["path", "message"],
        properties: {
          path: { ...text, description: "A JSON Pointer (RFC 6901); empty for the whole." },
          message: text,
        },
      },
      description: "What is wrong, and where.",
    },
    at: { ...place, description: "Where the letter lies." },
    copies: { ...count, description: "How often it lies there: a crash can send it twice." },
    key: { ...base64OrNull, description: "Its bytes; null when it has none." },
    value: { ...base64OrNull, description: "Its bytes; null when it has none." },
    headers: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name", "value"],
        properties: { name: text, value: base64 },
      },
      description: "The headers that it came with. A name can stand more than once.",
    },
    omitted: { type: ["string", "null"], description: "Why the value is not here; null when it is." },
    replayOf: { type: ["string", "null"], description: "The id of the letter that it was a replay of." },
    replays: { type: "array", items: replay, description: "The oldest first." },
  },
} as const;

export type DeadLetterView = FromSchema<typeof deadLetterSchema>;

const ids = {
  type: "array",
  minItems: 1,
  maxItems: 1_000,
  items: { type: "string", minLength: 1, maxLength: 300 },
  description: "Of the letters that are meant.",
} as const;

/** The body of `POST /api/topicsync/v1/dead-letter-replay`. */
export const replayBodySchema = {
  $id: "replay-body",
  type: "object",
  additionalProperties: false,
  required: ["ids"],
  properties: {
    ids,
    channel: { enum: deadLetterChannels, description: channel.description },
    again: { type: "boolean", description: "Also what was replayed before." },
    force: {
      type: "boolean",
      description:
        "Also what is superseded: its topic was announced or retired later, whether the sync has applied that or not, and this overwrites it.",
    },
    dryRun: { type: "boolean", description: "Only says what would be sent." },
  },
} as const;

export type ReplayBody = FromSchema<typeof replayBodySchema>;

/** Why a letter is not sent; the schema below says what each means. */
export const skipKinds = ["missing", "omitted", "replayed", "superseded", "refused", "interrupted"] as const;

export type SkipKind = (typeof skipKinds)[number];

/** The answer to it. */
export const replayResultSchema = {
  $id: "replay-result",
  type: "object",
  additionalProperties: false,
  required: ["to", "sent", "skipped"],
  properties: {
    to: { ...text, description: "The Kafka topic that they are sent to." },
    sent: {
      type: "array",
      items: text,
      description: "Ids of the letters that were sent; with `dryRun`, of those that would be.",
    },
    skipped: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "kind", "reason"],
        properties: {
          id: text,
          kind: {
            enum: skipKinds,
            description:
              "`missing`: there is no such letter among the newest. `omitted`: its bytes are not here. `replayed`: it was before. `superseded`: its topic was announced or retired later. `refused`: Kafka does not take it. `interrupted`: Kafka or the database stopped answering; the letter's replays say whether it was sent.",
          },
          reason: { ...text, description: "The same in words." },
        },
      },
      description: "What is not sent.",
    },
  },
} as const;

export type ReplayResult = FromSchema<typeof replayResultSchema>;

/** The body of `POST /api/topicsync/v1/dead-letter-outcomes`. */
export const outcomesBodySchema = {
  $id: "outcomes-body",
  type: "object",
  additionalProperties: false,
  required: ["ids"],
  properties: { ids, channel: { enum: deadLetterChannels, description: channel.description } },
} as const;

export type OutcomesBody = FromSchema<typeof outcomesBodySchema>;

/** The answer to it. */
export const outcomesSchema = {
  $id: "outcomes",
  type: "object",
  additionalProperties: false,
  required: ["letters"],
  properties: {
    letters: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "replay"],
        properties: { id: text, replay: letterItem.properties.replay },
      },
      description: "In the order in which they were asked for.",
    },
  },
} as const;

export type Outcomes = FromSchema<typeof outcomesSchema>;
