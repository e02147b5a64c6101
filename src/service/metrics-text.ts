import type { Registry } from "prom-client";

import { cached } from "@topicsync/lib/concurrency/cached";
import type { MetricsText } from "../operations/framework/services.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import type { IndexStatus } from "../topics/live/topic-index.ts";
import { declareMetrics, type Metrics } from "./metrics.ts";

/** What the gauges are read from when metrics are scraped. */
interface MetricsSources {
  readonly getSyncStatus: () => Promise<SyncStatus>;
  /** The picker's topics; zero until the first event. */
  readonly picker: () => Pick<IndexStatus, "topics" | "unconditional" | "unreadable">;
  /** Registrations and removals that wait for a bulk write, and those being written. */
  readonly getRegistrations: () => { readonly waiting: number; readonly writing: number };
  /** The connections of MongoDB's driver. */
  readonly getPoolUse: () => { readonly inUse: number; readonly waiting: number };
  /** When the certificates of the settings expire, in milliseconds since 1970. */
  readonly getCertificates: () => readonly { readonly setting: string; readonly expiresAt: number }[];
  /** As `GET /readyz`. Never throws. */
  readonly readiness: () => Promise<Readonly<Record<string, { readonly ok: boolean }>>>;
}

/**
 * Adds gauges that are read from `sources` at each scrape, and returns all metrics in Prometheus' text
 * format, cached for a second, since /metrics needs no credentials.
 */
export function createMetricsText(
  { registry }: Pick<Metrics, "registry">,
  sources: MetricsSources,
): MetricsText {
  const { gauge } = declareMetrics(registry);
  const ready = gauge("topicsync_ready", "Whether a check of GET /readyz succeeds: 1 or 0.", "check");
  const pickerTopics = gauge(
    "topicsync_picker_topics",
    "Topics that events are matched against; zero until the first event.",
  );
  const unconditionalTopics = gauge(
    "topicsync_picker_unconditional_topics",
    "Topics without conditions: every event belongs to them.",
  );
  const unreadableTopics = gauge(
    "topicsync_picker_unreadable_topics",
    "Stored topics that are never picked because a filter cannot be parsed.",
  );
  const waitingRegistrations = gauge(
    "topicsync_registrations_waiting",
    "Registrations and removals that wait for the next bulk write.",
  );
  const connections = gauge(
    "topicsync_mongodb_connections",
    "Connections to MongoDB in use, and operations that wait for one.",
    "state",
  );
  const certificates = gauge(
    "topicsync_certificate_expiry_timestamp_seconds",
    "When the certificate in the file of a setting expires, in seconds since 1970.",
    "setting",
  );
  const setPartitions = createPartitionGauges(registry);

  async function render(): Promise<string> {
    const [checks, { pushFeedback, router, ...sync }] = await Promise.all([
      sources.readiness(),
      sources.getSyncStatus(),
    ]);
    for (const [check, { ok }] of Object.entries(checks)) ready.set({ check }, ok ? 1 : 0);
    setPartitions({ announcements: sync, "push-feedback": pushFeedback, router });
    const { topics, unconditional, unreadable } = sources.picker();
    pickerTopics.set(topics);
    unconditionalTopics.set(unconditional);
    unreadableTopics.set(unreadable);
    waitingRegistrations.set(sources.getRegistrations().waiting);
    const { inUse, waiting } = sources.getPoolUse();
    connections.set({ state: "in_use" }, inUse);
    connections.set({ state: "waiting" }, waiting);
    certificates.reset();
    for (const { setting, expiresAt } of sources.getCertificates())
      certificates.set({ setting }, expiresAt / 1_000);
    return registry.metrics();
  }

  return { contentType: registry.contentType, render: cached(render, { ttlMs: 1_000 }) };
}

type PartitionStatus = SyncStatus["partitions"][number];

/** A gauge per member of a partition's status; a value that is unknown at the moment is left out. */
const partitionGauges: readonly (readonly [
  name: string,
  help: string,
  getValue: (partition: PartitionStatus) => number | null,
])[] = [
  ["committed_offset", "Offset of the next record to apply.", ({ committedOffset }) => committedOffset],
  ["log_end_offset", "Offset after the partition's last record.", ({ logEnd }) => logEnd],
  [
    "last_stable_offset",
    "Kafka's last stable offset: later records wait for the end of a transaction.",
    ({ lastStableOffset }) => lastStableOffset,
  ],
  ["lag_records", "Records not applied yet.", ({ lagRecords }) => lagRecords],
  ["lag_seconds", "Age of the oldest record not applied yet.", ({ lagSeconds }) => lagSeconds],
  [
    "open_transaction_seconds",
    "Age of the oldest open transaction, which later records wait for; 0 when there is none.",
    ({ openTransactionSeconds }) => openTransactionSeconds,
  ],
  [
    "assigned",
    "1 when the partition is assigned to a member of the group, otherwise 0.",
    ({ assigned }) => (assigned === null ? null : Number(assigned)),
  ],
  [
    "paused",
    "1 while this process has the partition but cannot read on, 0 while it reads.",
    ({ state }) => (state === null ? null : Number(state === "paused")),
  ],
  [
    "failing",
    "1 while an unexpected error (not an outage) keeps this process from reading on, otherwise 0.",
    ({ state, cause }) => (state === null ? null : Number(cause === "error" || cause === "decision")),
  ],
];

type WatchedLogs = Readonly<Record<string, Pick<SyncStatus, "topic" | "partitions"> | null>>;

function createPartitionGauges(registry: Registry): (logs: WatchedLogs) => void {
  const { gauge: declare } = declareMetrics(registry);
  const gauges = partitionGauges.map(([name, help, getValue]) => ({
    gauge: declare(`topicsync_partition_${name}`, help, "consumer", "topic", "partition"),
    getValue,
  }));
  return (logs) => {
    for (const { gauge, getValue } of gauges) {
      gauge.reset();
      for (const [consumer, log] of Object.entries(logs))
        for (const partition of log?.partitions ?? []) {
          const known = getValue(partition);
          const labels = { consumer, topic: log?.topic ?? "", partition: String(partition.partition) };
          if (known !== null) gauge.set(labels, known);
        }
    }
  };
}
