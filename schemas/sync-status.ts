import type { FromSchema } from "json-schema-to-ts";

const count = { type: "integer", minimum: 0 } as const;
const offset = { type: ["integer", "null"], minimum: 0 } as const;

const consumerState = {
  enum: ["joining", "assigned", "dead", "none"],
  description:
    "State of the consumer in the responding process: `joining` its group, `assigned` (possibly no partition), `dead`, or `none`.",
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
        description: "The offset of the next record to apply; null before the first record or if unknown.",
      },
      logStart: { ...offset, description: "The first offset in the log." },
      logEnd: {
        ...offset,
        description: "The offset after the last record, including records of open transactions.",
      },
      lastStableOffset: {
        ...offset,
        description:
          "Kafka's last stable offset: records from here on cannot be read until an open transaction ends. Equals logEnd if none is open.",
      },
      lagRecords: { ...offset, description: "The number of records that are not applied yet." },
      lagSeconds: {
        type: ["number", "null"],
        minimum: 0,
        description: "Age of the oldest record that is not applied yet, within about 5 %.",
      },
      openTransactionSeconds: {
        type: ["number", "null"],
        minimum: 0,
        description:
          "How long the oldest open transaction has blocked the log: the age of its first record, within about 5 %; 0 if none is open.",
      },
      assigned: {
        type: ["boolean", "null"],
        description: "Whether the partition is assigned to a member of the group; null if unknown.",
      },
      owner: {
        type: ["string", "null"],
        description: "The group member that owns the partition: client and address, or `this process`.",
      },
      state: {
        enum: ["reading", "paused", null],
        description: "State in the responding process; null if another one owns the partition.",
      },
      reason: { type: ["string", "null"], description: "Why it is paused." },
      cause: {
        enum: ["outage", "error", "decision", null],
        description:
          "What paused it: an `outage`, which needs no action, or an unexpected `error`, which needs attention; null if nothing failed.",
      },
    },
  },
} as const;

/** The response of `GET /api/topicsync/v1/sync`. */
export const syncStatusSchema = {
  $id: "sync-status",
  type: "object",
  additionalProperties: false,
  required: [
    "group",
    "topic",
    "consumer",
    "since",
    "counts",
    "partitions",
    "pushFeedback",
    "router",
    "problems",
  ],
  properties: {
    group: { type: "string", description: "The consumer group." },
    topic: { type: "string", description: "The announcements topic." },
    consumer: consumerState,
    since: {
      type: ["string", "null"],
      description: "When the responding process started to count (RFC 3339); null if it runs no sync.",
    },
    counts: {
      description:
        "Outcomes of the announcements that the responding process applied; null if it runs no sync.",
      anyOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["created", "updated", "adopted", "unchanged", "retired", "rejected"],
          properties: {
            created: count,
            updated: count,
            adopted: { ...count, description: "Topics created over HTTP that an announcement adopted." },
            unchanged: count,
            retired: count,
            rejected: {
              type: "object",
              additionalProperties: count,
              description: "Rejected announcements by code.",
            },
          },
        },
      ],
    },
    partitions,
    pushFeedback: {
      description: "The status of push feedback; null if none is read.",
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
                "Outcomes of the reports that the responding process applied; null if it reads none.",
              anyOf: [
                { type: "null" },
                {
                  type: "object",
                  additionalProperties: false,
                  required: ["deactivated", "renewed", "inactive", "unknown", "rejected"],
                  properties: {
                    deactivated: count,
                    renewed: { ...count, description: "Reports of tokens that were registered again later." },
                    inactive: { ...count, description: "Reports of tokens that were inactive already." },
                    unknown: { ...count, description: "Reports of tokens that are not registered." },
                    rejected: {
                      type: "object",
                      additionalProperties: count,
                      description: "Rejected reports by code.",
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
    router: {
      description: "The status of the router; null if no events are forwarded.",
      anyOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["group", "topic", "consumer", "counts", "index", "busiest", "partitions"],
          properties: {
            group: { type: "string", description: "Its consumer group." },
            topic: { type: "string", description: "The events topic." },
            consumer: consumerState,
            counts: {
              description: "What the responding process forwarded; null if it runs no router.",
              anyOf: [
                { type: "null" },
                {
                  type: "object",
                  additionalProperties: false,
                  required: ["matched", "unmatched", "forwarded", "rejected"],
                  properties: {
                    matched: { ...count, description: "Events that belong to at least one topic." },
                    unmatched: { ...count, description: "Events that belong to no topic." },
                    forwarded: { ...count, description: "Copies of events, one per topic." },
                    rejected: {
                      type: "object",
                      additionalProperties: count,
                      description: "Dead letters by code.",
                    },
                  },
                },
              ],
            },
            index: {
              description:
                "The topics that events are matched against; null if the responding process has none.",
              anyOf: [
                { type: "null" },
                {
                  type: "object",
                  additionalProperties: false,
                  required: ["state", "topics", "topicsRead"],
                  properties: {
                    state: {
                      enum: ["idle", "loading", "live", "reloading", "closed"],
                      description: "Events are forwarded only while it is `live`.",
                    },
                    topics: { ...count, description: "The number of topics." },
                    topicsRead: {
                      type: ["integer", "null"],
                      minimum: 0,
                      description: "Topics read so far while they are being loaded; otherwise null.",
                    },
                  },
                },
              ],
            },
            busiest: {
              type: "array",
              items: {
                type: "object",
                additionalProperties: false,
                required: ["externalId", "events"],
                properties: { externalId: { type: "string" }, events: count },
              },
              description:
                "The ten topics with the most events in the responding process, busiest first, without those that the caller may not read.",
            },
            partitions,
          },
        },
      ],
    },
    problems: {
      type: "array",
      items: { type: "string" },
      description: "What could not be determined, and why.",
    },
  },
} as const;

export type SyncStatus = FromSchema<typeof syncStatusSchema>;
