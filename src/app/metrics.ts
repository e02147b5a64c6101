import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { SyncStatus } from "../../schemas/sync-status.ts";
import { cached } from "../lib/cached.ts";
import { feedbackOutcomes, type FeedbackDecision } from "../installations/feedback.ts";
import type { AppliedBatch } from "../sync/tally.ts";
import type { AnnouncementOutcome } from "../topics/decide.ts";

export interface MetricsOptions {
  readonly status: () => Promise<SyncStatus>;
  /** What can be picked; zero until somebody asked. */
  readonly picker: () => { readonly topics: number; readonly unreadable: number };
  /** Registrations and removals that wait for a bulk, and that are on their way. */
  readonly registrations: () => { readonly waiting: number; readonly writing: number };
  /** What `GET /readyz` looks at. Never throws. */
  readonly readiness: () => Promise<Readonly<Record<string, { readonly ok: boolean }>>>;
}

/** The metrics of this process, in Prometheus' text format. */
export interface Metrics {
  readonly contentType: string;
  /** Told of each batch once it is stored. */
  applied(batch: AppliedBatch): void;
  /** Told of each batch of push feedback once it is stored. */
  feedbackApplied(decision: FeedbackDecision): void;
  /** Told of each bulk of registrations and removals. */
  registrationsWritten(bulk: { readonly writes: number; readonly tookMs: number }): void;
  /** At most a second old: anybody may ask. */
  readonly text: () => Promise<string>;
}

const outcomes = [
  "created",
  "updated",
  "adopted",
  "unchanged",
  "retired",
  "refused",
] as const satisfies AnnouncementOutcome[];
const batchSizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
const writeSeconds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const storedSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

/** Makes the metrics, named by Prometheus' conventions; with those of the process. */
export function createMetrics({ status, picker, registrations, readiness }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const announcements = new Counter({
    name: "topicsync_announcements_total",
    help: "Announcements that this process applied, by what became of them.",
    labelNames: ["outcome"],
    registers,
  });
  // So that each is there from the start: what appears only later has no rate at first.
  for (const outcome of outcomes) announcements.inc({ outcome }, 0);
  const refusals = new Counter({
    name: "topicsync_refusals_total",
    help: "Announcements that this process refused, by code.",
    labelNames: ["code"],
    registers,
  });
  const batchSize = new Histogram({
    name: "topicsync_batch_announcements",
    help: "Announcements applied together.",
    buckets: batchSizes,
    registers,
  });
  const writeTime = new Histogram({
    name: "topicsync_batch_write_seconds",
    help: "Time that looking up, deciding and writing a batch took.",
    buckets: writeSeconds,
    registers,
  });
  const storedAfter = new Histogram({
    name: "topicsync_announcement_stored_seconds",
    help: "Time from the announcement (the record's timestamp) until it was applied.",
    buckets: storedSeconds,
    registers,
  });
  const feedback = new Counter({
    name: "topicsync_push_feedback_total",
    help: "Reports of dead push tokens that this process applied, by what became of them.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of feedbackOutcomes) feedback.inc({ outcome }, 0);
  const feedbackRefusals = new Counter({
    name: "topicsync_push_feedback_refusals_total",
    help: "Reports of dead push tokens that this process refused, by code.",
    labelNames: ["code"],
    registers,
  });
  const ready = new Gauge({
    name: "topicsync_ready",
    help: "Whether what the service needs works, as GET /readyz says: 1 or 0.",
    labelNames: ["check"],
    registers,
  });
  const pickable = new Gauge({
    name: "topicsync_picker_topics",
    help: "Topics that events are matched with; zero until the first event was given.",
    registers,
  });
  const unreadable = new Gauge({
    name: "topicsync_picker_unreadable_topics",
    help: "Stored topics that are never picked, since a filter of theirs cannot be read.",
    registers,
  });
  const bulkWrites = new Histogram({
    name: "topicsync_registration_bulk_writes",
    help: "Registrations and removals of push tokens written together.",
    buckets: batchSizes,
    registers,
  });
  const bulkTime = new Histogram({
    name: "topicsync_registration_bulk_seconds",
    help: "Time that MongoDB took for a bulk of them.",
    buckets: writeSeconds,
    registers,
  });
  const waitingRegistrations = new Gauge({
    name: "topicsync_registrations_waiting",
    help: "Registrations and removals that wait for the bulk on its way.",
    registers,
  });
  const setPartitions = partitionGauges(registry);

  return {
    contentType: registry.contentType,

    applied({ counts, refused, announcedOn, storedOn, tookMs }) {
      for (const [outcome, count] of Object.entries(counts)) announcements.inc({ outcome }, count);
      for (const code of refused) refusals.inc({ code });
      batchSize.observe(announcedOn.length);
      writeTime.observe(tookMs / 1_000);
      // A record without a timestamp has -1.
      for (const on of announcedOn) if (on >= 0) storedAfter.observe(Math.max(0, storedOn - on) / 1_000);
    },

    feedbackApplied({ counts, refusals }) {
      for (const [outcome, count] of Object.entries(counts)) feedback.inc({ outcome }, count);
      for (const { refusal } of refusals) feedbackRefusals.inc({ code: refusal.code });
    },

    registrationsWritten({ writes, tookMs }) {
      bulkWrites.observe(writes);
      bulkTime.observe(tookMs / 1_000);
    },

    text: cached(
      async () => {
        const [checks, { pushFeedback, ...sync }] = await Promise.all([readiness(), status()]);
        for (const [check, { ok }] of Object.entries(checks)) ready.set({ check }, ok ? 1 : 0);
        setPartitions(pushFeedback === null ? [sync] : [sync, pushFeedback]);
        pickable.set(picker().topics);
        unreadable.set(picker().unreadable);
        waitingRegistrations.set(registrations().waiting);
        return registry.metrics();
      },
      { ttlMs: 1_000 },
    ),
  };
}

type Standing = SyncStatus["partitions"][number];

/** One gauge for each thing that is known of a partition. What is not known at the moment is left out. */
const perPartition: readonly [name: string, help: string, value: (one: Standing) => number | null][] = [
  ["committed_offset", "The offset of the next record to apply.", (one) => one.committedOffset],
  ["log_end_offset", "The offset behind the log's last record.", (one) => one.logEnd],
  [
    "last_stable_offset",
    "Kafka's last stable offset: records from here on wait for the end of a transaction.",
    (one) => one.lastStableOffset,
  ],
  ["lag_records", "Records that are not applied yet.", (one) => one.lagRecords],
  ["lag_seconds", "Age of the oldest record that is not applied yet.", (one) => one.lagSeconds],
  [
    "open_transaction_seconds",
    "Age of the oldest transaction that is open in the log and holds it up; 0 when none is.",
    (one) => one.openTransactionSeconds,
  ],
  [
    "assigned",
    "1 when a member of the group has the partition, 0 when none has.",
    (one) => (one.assigned === null ? null : Number(one.assigned)),
  ],
  [
    "paused",
    "1 while this process has the partition but cannot go on, 0 while it reads it.",
    (one) => (one.state === null ? null : Number(one.state === "paused")),
  ],
  [
    "failing",
    "1 while an unexpected error, which is no outage, keeps this process from going on in the partition, 0 otherwise.",
    (one) => (one.state === null ? null : Number(one.cause === "error")),
  ],
];

function partitionGauges(
  registry: Registry,
): (logs: readonly Pick<SyncStatus, "topic" | "partitions">[]) => void {
  const gauges = perPartition.map(([name, help, value]) => ({
    value,
    gauge: new Gauge({
      name: `topicsync_partition_${name}`,
      help,
      labelNames: ["topic", "partition"],
      registers: [registry],
    }),
  }));
  return (logs) => {
    for (const { gauge, value } of gauges) {
      gauge.reset();
      for (const { topic, one } of logs.flatMap(({ topic, partitions }) =>
        partitions.map((one) => ({ topic, one })),
      )) {
        const known = value(one);
        if (known !== null) gauge.set({ topic, partition: String(one.partition) }, known);
      }
    }
  };
}
