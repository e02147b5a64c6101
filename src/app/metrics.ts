import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { MetricsText } from "../../http/routes/health.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import { cached } from "../lib/cached.ts";
import type { RejectionCode } from "../lib/errors.ts";
import type { IndexStatus } from "../matching/live-topic-index.ts";
import { feedbackOutcomes, type FeedbackDecision } from "../installations/feedback.ts";
import type { RoutedBatch } from "../routing/tally.ts";
import type { AppliedBatch } from "../sync/tally.ts";
import type { AnnouncementOutcome } from "../topics/decide.ts";

/** What the gauges are read from when metrics are scraped. */
export interface MetricsSources {
  readonly getSyncStatus: () => Promise<SyncStatus>;
  /** The picker's topics; zero until the first event. */
  readonly picker: () => Pick<IndexStatus, "topics" | "unconditional" | "unreadable">;
  /** Registrations and removals that wait for a bulk write, and those being written. */
  readonly getRegistrations: () => { readonly waiting: number; readonly writing: number };
  /** As `GET /readyz`. Never throws. */
  readonly readiness: () => Promise<Readonly<Record<string, { readonly ok: boolean }>>>;
}

/** The counters and histograms of this process. */
export interface Metrics {
  readonly registry: Registry;
  /** Call with each batch of announcements once it is stored. */
  recordAnnouncements(batch: AppliedBatch): void;
  /** Call with each batch of push feedback once it is stored. */
  recordFeedback(decision: FeedbackDecision): void;
  /** Call with each batch of events once it is forwarded. */
  recordEvents(batch: RoutedBatch): void;
  /** Call with each bulk write of registrations and removals. */
  readonly recordRegistrations: (bulk: { readonly writes: number; readonly tookMs: number }) => void;
}

const outcomes = [
  "created",
  "updated",
  "adopted",
  "unchanged",
  "retired",
  "rejected",
] as const satisfies AnnouncementOutcome[];
/** What can be wrong with an event. */
const eventRejectionCodes = [
  "MALFORMED_JSON",
  "SCHEMA_VIOLATION",
  "TOO_LARGE",
  "UNDECODABLE",
  "NO_EGRESS_TOPIC",
  "EGRESS_REJECTED",
  "TOO_MANY_TOPICS",
  "UNEXPECTED_ERROR",
] as const satisfies RejectionCode[];
const batchSizes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
const writeSeconds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const storedSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

/** Creates the metrics, named by Prometheus' conventions, with those of the process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const announcements = new Counter({
    name: "topicsync_announcements_total",
    help: "Announcements applied by this process, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  // From the start: the rate of a series that appears later misses its first increment.
  for (const outcome of outcomes) announcements.inc({ outcome }, 0);
  const rejections = new Counter({
    name: "topicsync_rejections_total",
    help: "Announcements rejected by this process, by code.",
    labelNames: ["code"],
    registers,
  });
  const batchSize = new Histogram({
    name: "topicsync_batch_announcements",
    help: "Announcements per batch.",
    buckets: batchSizes,
    registers,
  });
  const batchDuration = new Histogram({
    name: "topicsync_batch_write_duration_seconds",
    help: "Time to look up, decide and write a batch.",
    buckets: writeSeconds,
    registers,
  });
  const delay = new Histogram({
    name: "topicsync_announcement_delay_seconds",
    help: "Time from an announcement's timestamp until it was applied.",
    buckets: storedSeconds,
    registers,
  });
  const feedback = new Counter({
    name: "topicsync_push_feedback_total",
    help: "Reports of dead push tokens applied by this process, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of feedbackOutcomes) feedback.inc({ outcome }, 0);
  const feedbackRejections = new Counter({
    name: "topicsync_push_feedback_rejections_total",
    help: "Reports of dead push tokens rejected by this process, by code.",
    labelNames: ["code"],
    registers,
  });
  const events = new Counter({
    name: "topicsync_router_events_total",
    help: "Events read by this process, by outcome: matched by a topic or not.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ["matched", "unmatched"]) events.inc({ outcome }, 0);
  const copies = new Counter({
    name: "topicsync_router_copies_total",
    help: "Copies of events forwarded by this process.",
    registers,
  });
  const unroutable = new Counter({
    name: "topicsync_router_unroutable_total",
    help: "Matches of events with topics that no Kafka topic can be named after; such a topic receives nothing.",
    registers,
  });
  const eventRejections = new Counter({
    name: "topicsync_router_rejections_total",
    help: "Events that became dead letters in this process, by code.",
    labelNames: ["code"],
    registers,
  });
  for (const code of eventRejectionCodes) eventRejections.inc({ code }, 0);
  const routeDuration = new Histogram({
    name: "topicsync_router_batch_duration_seconds",
    help: "Time to forward a batch of events in a transaction.",
    buckets: writeSeconds,
    registers,
  });
  const routeDelay = new Histogram({
    name: "topicsync_router_event_delay_seconds",
    help: "Time from an event's timestamp until it was forwarded.",
    buckets: storedSeconds,
    registers,
  });
  const bulkSize = new Histogram({
    name: "topicsync_registration_bulk_writes",
    help: "Registrations and removals of push tokens per bulk write.",
    buckets: batchSizes,
    registers,
  });
  const bulkDuration = new Histogram({
    name: "topicsync_registration_bulk_duration_seconds",
    help: "Time MongoDB took for a bulk write of registrations and removals.",
    buckets: writeSeconds,
    registers,
  });

  return {
    registry,

    recordAnnouncements({ counts, rejected, announcedOn, storedOn, tookMs }) {
      for (const [outcome, count] of Object.entries(counts)) announcements.inc({ outcome }, count);
      for (const code of rejected) rejections.inc({ code });
      batchSize.observe(announcedOn.length);
      batchDuration.observe(tookMs / 1_000);
      // A record without a timestamp has -1.
      for (const on of announcedOn) if (on >= 0) delay.observe(Math.max(0, storedOn - on) / 1_000);
    },

    recordFeedback({ counts, rejections }) {
      for (const [outcome, count] of Object.entries(counts)) feedback.inc({ outcome }, count);
      for (const { rejection } of rejections) feedbackRejections.inc({ code: rejection.code });
    },

    recordEvents({ events: routed, forwarded, unroutable: skipped, rejected, producedOn, routedOn, tookMs }) {
      const matched = routed.filter(({ isUnmatched }) => !isUnmatched).length;
      events.inc({ outcome: "matched" }, matched);
      events.inc({ outcome: "unmatched" }, routed.length - matched);
      copies.inc(forwarded);
      unroutable.inc(skipped);
      for (const code of rejected) eventRejections.inc({ code });
      routeDuration.observe(tookMs / 1_000);
      for (const on of producedOn) if (on >= 0) routeDelay.observe(Math.max(0, routedOn - on) / 1_000);
    },

    recordRegistrations({ writes, tookMs }) {
      bulkSize.observe(writes);
      bulkDuration.observe(tookMs / 1_000);
    },
  };
}

/**
 * Adds gauges that are read from `sources` at each scrape, and returns all metrics in Prometheus' text format, cached for a
 * second, since /metrics needs no credentials.
 */
export function createMetricsText(
  { registry }: Metrics,
  { getSyncStatus, picker, getRegistrations, readiness }: MetricsSources,
): MetricsText {
  const registers = [registry];
  const ready = new Gauge({
    name: "topicsync_ready",
    help: "Whether a check of GET /readyz succeeds: 1 or 0.",
    labelNames: ["check"],
    registers,
  });
  const pickerTopics = new Gauge({
    name: "topicsync_picker_topics",
    help: "Topics that events are matched against; zero until the first event.",
    registers,
  });
  const unconditionalTopics = new Gauge({
    name: "topicsync_picker_unconditional_topics",
    help: "Topics without conditions: every event belongs to them.",
    registers,
  });
  const unreadableTopics = new Gauge({
    name: "topicsync_picker_unreadable_topics",
    help: "Stored topics that are never picked because a filter cannot be parsed.",
    registers,
  });
  const waitingRegistrations = new Gauge({
    name: "topicsync_registrations_waiting",
    help: "Registrations and removals that wait for the next bulk write.",
    registers,
  });
  const setPartitions = createPartitionGauges(registry);

  async function render(): Promise<string> {
    const [checks, { pushFeedback, router, ...sync }] = await Promise.all([readiness(), getSyncStatus()]);
    for (const [check, { ok }] of Object.entries(checks)) ready.set({ check }, ok ? 1 : 0);
    setPartitions([sync, pushFeedback, router].filter((log) => log !== null));
    const { topics, unconditional, unreadable } = picker();
    pickerTopics.set(topics);
    unconditionalTopics.set(unconditional);
    unreadableTopics.set(unreadable);
    waitingRegistrations.set(getRegistrations().waiting);
    return registry.metrics();
  }

  return { contentType: registry.contentType, render: cached(render, { ttlMs: 1_000 }) };
}

type PartitionStatus = SyncStatus["partitions"][number];

/** A gauge per member of a partition's status; a value that is unknown at the moment is left out. */
const partitionGauges: readonly {
  readonly name: string;
  readonly help: string;
  readonly value: (partition: PartitionStatus) => number | null;
}[] = [
  {
    name: "committed_offset",
    help: "Offset of the next record to apply.",
    value: ({ committedOffset }) => committedOffset,
  },
  {
    name: "log_end_offset",
    help: "Offset after the partition's last record.",
    value: ({ logEnd }) => logEnd,
  },
  {
    name: "last_stable_offset",
    help: "Kafka's last stable offset: later records wait for the end of a transaction.",
    value: ({ lastStableOffset }) => lastStableOffset,
  },
  {
    name: "lag_records",
    help: "Records not applied yet.",
    value: ({ lagRecords }) => lagRecords,
  },
  {
    name: "lag_seconds",
    help: "Age of the oldest record not applied yet.",
    value: ({ lagSeconds }) => lagSeconds,
  },
  {
    name: "open_transaction_seconds",
    help: "Age of the oldest open transaction, which later records wait for; 0 when there is none.",
    value: ({ openTransactionSeconds }) => openTransactionSeconds,
  },
  {
    name: "assigned",
    help: "1 when the partition is assigned to a member of the group, otherwise 0.",
    value: ({ assigned }) => (assigned === null ? null : Number(assigned)),
  },
  {
    name: "paused",
    help: "1 while this process has the partition but cannot read on, 0 while it reads.",
    value: ({ state }) => (state === null ? null : Number(state === "paused")),
  },
  {
    name: "failing",
    help: "1 while an unexpected error (not an outage) keeps this process from reading on, otherwise 0.",
    value: ({ state, cause }) => (state === null ? null : Number(cause === "error")),
  },
];

function createPartitionGauges(
  registry: Registry,
): (logs: readonly Pick<SyncStatus, "topic" | "partitions">[]) => void {
  const gauges = partitionGauges.map(({ name, help, value }) => ({
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
      for (const { topic, partitions } of logs)
        for (const partition of partitions) {
          const known = value(partition);
          if (known !== null) gauge.set({ topic, partition: String(partition.partition) }, known);
        }
    }
  };
}
