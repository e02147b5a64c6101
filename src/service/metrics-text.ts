import { Gauge, type Registry } from "prom-client";

import { cached } from "@topicsync/lib/concurrency/cached";
import type { MetricsText } from "../operations/framework/services.ts";
import type { SyncStatus } from "../../schemas/sync-status.ts";
import type { IndexStatus } from "../topics/live/topic-index.ts";
import type { Metrics } from "./metrics.ts";

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
  { getSyncStatus, picker, getRegistrations, getPoolUse, getCertificates, readiness }: MetricsSources,
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
  const connections = new Gauge({
    name: "topicsync_mongodb_connections",
    help: "Connections to MongoDB in use, and operations that wait for one.",
    labelNames: ["state"],
    registers,
  });
  const certificates = new Gauge({
    name: "topicsync_certificate_expiry_timestamp_seconds",
    help: "When the certificate in the file of a setting expires, in seconds since 1970.",
    labelNames: ["setting"],
    registers,
  });
  const setPartitions = createPartitionGauges(registry);

  async function render(): Promise<string> {
    const [checks, { pushFeedback, router, ...sync }] = await Promise.all([readiness(), getSyncStatus()]);
    for (const [check, { ok }] of Object.entries(checks)) ready.set({ check }, ok ? 1 : 0);
    setPartitions({ announcements: sync, "push-feedback": pushFeedback, router });
    const { topics, unconditional, unreadable } = picker();
    pickerTopics.set(topics);
    unconditionalTopics.set(unconditional);
    unreadableTopics.set(unreadable);
    waitingRegistrations.set(getRegistrations().waiting);
    const { inUse, waiting } = getPoolUse();
    connections.set({ state: "in_use" }, inUse);
    connections.set({ state: "waiting" }, waiting);
    certificates.reset();
    for (const { setting, expiresAt } of getCertificates()) certificates.set({ setting }, expiresAt / 1_000);
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
    value: ({ state, cause }) => (state === null ? null : Number(cause === "error" || cause === "decision")),
  },
];

function createPartitionGauges(
  registry: Registry,
): (logs: Readonly<Record<string, Pick<SyncStatus, "topic" | "partitions"> | null>>) => void {
  const gauges = partitionGauges.map(({ name, help, value }) => ({
    value,
    gauge: new Gauge({
      name: `topicsync_partition_${name}`,
      help,
      labelNames: ["consumer", "topic", "partition"],
      registers: [registry],
    }),
  }));
  return (logs) => {
    for (const { gauge, value } of gauges) {
      gauge.reset();
      for (const [consumer, log] of Object.entries(logs))
        for (const partition of log?.partitions ?? []) {
          const known = value(partition);
          const labels = { consumer, topic: log?.topic ?? "", partition: String(partition.partition) };
          if (known !== null) gauge.set(labels, known);
        }
    }
  };
}
