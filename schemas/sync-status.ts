import type { FromSchema } from "json-schema-to-ts";

const count = { type: "integer", minimum: 0 } as const;
const offset = { type: ["integer", "null"], minimum: 0 } as const;

const consumerState = {
  enum: ["joining", "assigned", "dead", "none"],
  description:
    "The consumer of the process that answers: joining its group, assigned (perhaps to no partition), dead, or none.",
} as const;
const partitions = {
  type: "array",
  items: {
    type: "object",
    additionalProperties: false,
    required: [
      "partition",
      "committedOffset",
      "logStart",
      "logEnd",
      "lastStableOffset",
      "lagRecords",
      "lagSeconds",
      "openTransactionSeconds",
      "assigned",
      "owner",
      "state",
      "reason",
      "cause",
    ],
    properties: {
      partition: count,
      committedOffset: {
        ...offset,
        description: "The offset of the next record to apply; null before the first or when not known.",
      },
      logStart: { ...offset, description: "The first offset that the log still has." },
      logEnd: {
        ...offset,
        description: "The offset behind the log's last record, records of open transactions included.",
      },
      lastStableOffset: {
        ...offset,
        description:
          "Kafka's last stable offset: nothing from here on can be read before a transaction ends. The same as logEnd when none is open.",
      },
      lagRecords: { ...offset, description: "Records that are not applied yet." },
      lagSeconds: {
        type: ["number", "null"],
        minimum: 0,
        description: "Age of the oldest record that is not applied yet, to about 5 %.",
      },
      openTransactionSeconds: {
        type: ["number", "null"],
        minimum: 0,
        description:
          "How long the oldest open transaction has held up the log: the age of its first record, to about 5 %; 0 when none is open.",
      },
      assigned: {
        type: ["boolean", "null"],
        description: "Whether a member of the group has the partition; null when not known.",
      },
      owner: {
        type: ["string", "null"],
        description: "The member that has it: client and address; `this process` for the one that answers.",
      },
      state: {
        enum: ["reading", "paused", null],
        description: "What the answering process does with it; null when it has not got it.",
      },
      reason: { type: ["string", "null"], description: "Why it is paused." },
      cause: {
        enum: ["outage", "error", null],
        description:
          "What paused it: an outage, which ends by itself, or an unexpected error, which somebody has to look at. Null when nothing failed.",
      },
    },
  },
} as const;

/** The answer of `GET /api/topicsync/v1/sync`: where the sync stands. */
export const syncStatusSchema = {
  $id: "sync-status",
  type: "object",
  additionalProperties: false,
  required: ["group", "topic", "consumer", "since", "counts", "partitions", "pushFeedback", "problems"],
  properties: {
    group: { type: "string", description: "The consumer group." },
    topic: { type: "string", description: "The announcements topic." },
    consumer: consumerState,
    since: {
      type: ["string", "null"],
      description: "When the process that answers began to count, as RFC 3339; null when none runs.",
    },
    counts: {
      description:
        "What became of the announcements that the answering process applied; null when none runs.",
      anyOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["created", "updated", "adopted", "unchanged", "retired", "refused"],
          properties: {
            created: count,
            updated: count,
            adopted: { ...count, description: "Topics created over HTTP that the channel took over." },
            unchanged: count,
            retired: count,
            refused: {
              type: "object",
              additionalProperties: count,
              description: "Refused announcements by their code.",
            },
          },
        },
      ],
    },
    partitions,
    pushFeedback: {
      description: "Where reading the push feedback stands; null when none is read.",
      anyOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["group", "topic", "consumer", "counts", "partitions"],
          properties: {
            group: { type: "string", description: "Its consumer group." },
            topic: { type: "string", description: "The push feedback topic." },
            consumer: consumerState,
            counts: {
              description:
                "What became of the reports that the answering process applied; null when none runs.",
              anyOf: [
                { type: "null" },
                {
                  type: "object",
                  additionalProperties: false,
                  required: ["deactivated", "renewed", "inactive", "unknown", "refused"],
                  properties: {
                    deactivated: count,
                    renewed: { ...count, description: "Reports of tokens that were registered again since." },
                    inactive: { ...count, description: "Reports of tokens that were inactive already." },
                    unknown: { ...count, description: "Reports of tokens that are not registered." },
                    refused: {
                      type: "object",
                      additionalProperties: count,
                      description: "Refused reports by their code.",
                    },
                  },
                },
              ],
            },
            partitions,
          },
        },
      ],
    },
    problems: {
      type: "array",
      items: { type: "string" },
      description: "What could not be found out, and why.",
    },
  },
} as const;

export type SyncStatus = FromSchema<typeof syncStatusSchema>;
