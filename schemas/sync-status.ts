import type { FromSchema } from "json-schema-to-ts";

import {
  atom,
  count,
  countsByCode,
  list,
  named,
  nullableCount,
  nullableText,
  object,
  objects,
  orNull,
  text,
} from "./shapes.ts";

const seconds = atom({ type: ["number", "null"], minimum: 0 });

const consumerState = {
  enum: ["joining", "assigned", "dead", "none"],
  description:
    "State of the consumer in the responding process: `joining` its group, `assigned` (possibly no partition), `dead`, or `none`.",
} as const;

const partitions = objects({
  partition: count(),
  committedOffset: nullableCount(
    "The offset of the next record to apply; null before the first record or if unknown.",
  ),
  logStart: nullableCount("The first offset in the log."),
  logEnd: nullableCount("The offset after the last record, including records of open transactions."),
  lastStableOffset: nullableCount(
    "Kafka's last stable offset: records from here on cannot be read until an open transaction ends. Equals logEnd if none is open.",
  ),
  lagRecords: nullableCount("The number of records that are not applied yet."),
  lagSeconds: seconds("Age of the oldest record that is not applied yet, within about 5 %."),
  openTransactionSeconds: seconds(
    "How long the oldest open transaction has blocked the log: the age of its first record, within about 5 %; 0 if none is open.",
  ),
  assigned: {
    type: ["boolean", "null"],
    description: "Whether the partition is assigned to a member of the group; null if unknown.",
  },
  owner: nullableText("The group member that owns the partition: client and address, or `this process`."),
  state: {
    enum: ["reading", "paused", null],
    description: "State in the responding process; null if another one owns the partition.",
  },
  reason: nullableText("Why it is paused."),
  cause: {
    enum: ["outage", "error", "decision", null],
    description:
      "What paused it: an `outage`, which needs no action, or an unexpected `error`, which needs attention; null if nothing failed.",
  },
});

/** The response of `GET /api/topicsync/v1/sync`. */
export const syncStatusSchema = named("sync-status", {
  group: text("The consumer group."),
  topic: text("The announcements topic."),
  consumer: consumerState,
  since: nullableText("When the responding process started to count (RFC 3339); null if it runs no sync."),
  counts: {
    description:
      "Outcomes of the announcements that the responding process applied; null if it runs no sync.",
    anyOf: orNull({
      created: count(),
      updated: count(),
      adopted: count("Topics created over HTTP that an announcement adopted."),
      unchanged: count(),
      retired: count(),
      rejected: countsByCode("Rejected announcements by code."),
    }),
  },
  partitions,
  pushFeedback: {
    description: "The status of push feedback; null if none is read.",
    anyOf: orNull({
      group: text("Its consumer group."),
      topic: text("The push feedback topic."),
      consumer: consumerState,
      counts: {
        description: "Outcomes of the reports that the responding process applied; null if it reads none.",
        anyOf: orNull({
          deactivated: count(),
          renewed: count("Reports of tokens that were registered again later."),
          inactive: count("Reports of tokens that were inactive already."),
          unknown: count("Reports of tokens that are not registered."),
          rejected: countsByCode("Rejected reports by code."),
        }),
      },
      partitions,
    }),
  },
  router: {
    description: "The status of the router; null if no events are forwarded.",
    anyOf: orNull({
      group: text("Its consumer group."),
      topic: text("The events topic."),
      consumer: consumerState,
      counts: {
        description: "What the responding process forwarded; null if it runs no router.",
        anyOf: orNull({
          matched: count("Events that belong to at least one topic."),
          unmatched: count("Events that belong to no topic."),
          forwarded: count("Copies of events, one per topic."),
          rejected: countsByCode("Dead letters by code."),
        }),
      },
      index: {
        description: "The topics that events are matched against; null if the responding process has none.",
        anyOf: orNull({
          state: {
            enum: ["idle", "loading", "live", "reloading", "closed"],
            description: "Events are forwarded only while it is `live`.",
          },
          topics: count("The number of topics."),
          topicsRead: nullableCount("Topics read so far while they are being loaded; otherwise null."),
        }),
      },
      "backfills?": nullableCount("Backfills that are waiting or running; null if unknown."),
      busiest: list(
        object({ externalId: text(), events: count() }),
        "The ten topics with the most events in the responding process, busiest first, without those that the caller may not read.",
      ),
      partitions,
    }),
  },
  problems: list(text(), "What could not be determined, and why."),
});

export type SyncStatus = FromSchema<typeof syncStatusSchema>;
