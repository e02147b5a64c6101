import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { RejectionCode } from "@topicsync/lib/errors";
import type { MeasuredRequest } from "../../http/framework/observation.ts";
import { statuses, type ErrorCode } from "../operations/framework/errors.ts";
import type { StoredBatch } from "../../consumers/batch-handler.ts";
import { feedbackOutcomes, type FeedbackDecision } from "../installations/feedback.ts";
import type { RoutedBatch } from "../routing/tally.ts";
import { announcementOutcomes, type Decision } from "../topics/decide.ts";

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
const requestSeconds = [0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const storedSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

type Declare = ReturnType<typeof declareMetrics>;

/** Returns the functions that create metrics of a registry. */
export function declareMetrics(registry: Registry) {
  const registers = [registry];
  return {
    gauge: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Gauge({ name, help, labelNames, registers }),
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
      new Histogram({ name, help, buckets, labelNames, registers }),
  };
}

/** The counters and histograms of this process, with the functions that count. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the metrics, named by Prometheus' conventions, with those of the process. */
export function createMetrics() {
  const registry = new Registry();
  const declare = declareMetrics(registry);
  collectDefaultMetrics({ register: registry });
  declare
    .gauge(
      "topicsync_memory_limit_bytes",
      "Memory that this process may use: the limit of its container, or else the machine's memory.",
    )
    .set(getMemoryLimit());
  declare
    .gauge("topicsync_heap_limit_bytes", "Size of JavaScript's heap beyond which this process ends.")
    .set(getHeapStatistics().heap_size_limit);
  return {
    registry,
    recordAnnouncements: createAnnouncementMetrics(declare),
    recordFeedback: createFeedbackMetrics(declare),
    recordEvents: createRouterMetrics(declare),
    recordBackfill: createBackfillMetrics(declare),
    recordRegistrations: createRegistrationMetrics(declare),
    ...createHttpMetrics(declare),
  };
}

/** Without a limit, Node returns 0 or the largest number of the control group. */
function getMemoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit === 0 ? totalmem() : Math.min(limit, totalmem());
}

/** Returns the function to call with each batch of announcements once it is stored. */
function createAnnouncementMetrics({ counter, histogram }: Declare) {
  const announcements = counter(
    "topicsync_announcements_total",
    "Announcements applied by this process, by outcome.",
    "outcome",
  );
  // From the start: the rate of a series that appears later misses its first increment.
  for (const outcome of announcementOutcomes) announcements.inc({ outcome }, 0);
  const rejections = counter(
    "topicsync_rejections_total",
    "Announcements rejected by this process, by code.",
    "code",
  );
  const batchSize = histogram("topicsync_batch_announcements", "Announcements per batch.", batchSizes);
  const batchDuration = histogram(
    "topicsync_batch_write_duration_seconds",
    "Time to look up, decide and write a batch.",
    writeSeconds,
  );
  const delay = histogram(
    "topicsync_announcement_delay_seconds",
    "Time from an announcement's timestamp until it was applied.",
    storedSeconds,
  );
  return ({ decision, records, storedOn, tookMs }: StoredBatch<Decision>): void => {
    for (const [outcome, count] of Object.entries(decision.counts)) announcements.inc({ outcome }, count);
    for (const { rejection } of decision.rejections) rejections.inc({ code: rejection.code });
    batchSize.observe(records.length);
    batchDuration.observe(tookMs / 1_000);
    for (const { timestamp } of records) {
      const announcedOn = Number(timestamp);
      // A record without a timestamp has -1.
      if (announcedOn >= 0) delay.observe(Math.max(0, storedOn - announcedOn) / 1_000);
    }
  };
}

/** Returns the function to call with each batch of push feedback once it is stored. */
function createFeedbackMetrics({ counter }: Declare) {
  const feedback = counter(
    "topicsync_push_feedback_total",
    "Reports of dead push tokens applied by this process, by outcome.",
    "outcome",
  );
  for (const outcome of feedbackOutcomes) feedback.inc({ outcome }, 0);
  const feedbackRejections = counter(
    "topicsync_push_feedback_rejections_total",
    "Reports of dead push tokens rejected by this process, by code.",
    "code",
  );
  return ({ counts, rejections }: FeedbackDecision): void => {
    for (const [outcome, count] of Object.entries(counts)) feedback.inc({ outcome }, count);
    for (const { rejection } of rejections) feedbackRejections.inc({ code: rejection.code });
  };
}

/** Returns the function to call with each batch of events once it is forwarded. */
function createRouterMetrics({ counter, histogram }: Declare) {
  const events = counter(
    "topicsync_router_events_total",
    "Events read by this process, by outcome: matched by a topic or not.",
    "outcome",
  );
  for (const outcome of ["matched", "unmatched"]) events.inc({ outcome }, 0);
  const copies = counter("topicsync_router_copies_total", "Copies of events forwarded by this process.");
  const unroutable = counter(
    "topicsync_router_unroutable_total",
    "Matches of events with topics that no Kafka topic can be named after; such a topic receives nothing.",
  );
  const missedTimes = counter(
    "topicsync_router_missed_times_total",
    "How often a filter compared a time with values of an event that are no RFC 3339 times, and so did not match.",
  );
  const eventRejections = counter(
    "topicsync_router_rejections_total",
    "Events that became dead letters in this process, by code.",
    "code",
  );
  for (const code of eventRejectionCodes) eventRejections.inc({ code }, 0);
  const routeDuration = histogram(
    "topicsync_router_batch_duration_seconds",
    "Time to forward a batch of events in a transaction.",
    writeSeconds,
  );
  const routeDelay = histogram(
    "topicsync_router_event_delay_seconds",
    "Time from an event's timestamp until it was forwarded.",
    storedSeconds,
  );
  return ({ events: routed, forwarded, rejected, producedOn, routedOn, tookMs, ...batch }: RoutedBatch) => {
    const matched = routed.filter(({ isUnmatched }) => !isUnmatched).length;
    events.inc({ outcome: "matched" }, matched);
    events.inc({ outcome: "unmatched" }, routed.length - matched);
    copies.inc(forwarded);
    unroutable.inc(batch.unroutable);
    missedTimes.inc(batch.missedTimes);
    for (const code of rejected) eventRejections.inc({ code });
    routeDuration.observe(tookMs / 1_000);
    for (const on of producedOn) if (on >= 0) routeDelay.observe(Math.max(0, routedOn - on) / 1_000);
  };
}

/** Returns the function to call with the number of copies of each batch of a backfill. */
function createBackfillMetrics({ counter }: Declare) {
  const copies = counter(
    "topicsync_backfill_copies_total",
    "Copies of past events that backfills in this process forwarded.",
  );
  return (count: number): void => {
    copies.inc(count);
  };
}

/** Returns the function to call with each bulk write of registrations and removals. */
function createRegistrationMetrics({ histogram }: Declare) {
  const bulkSize = histogram(
    "topicsync_registration_bulk_writes",
    "Registrations and removals of push tokens per bulk write.",
    batchSizes,
  );
  const bulkDuration = histogram(
    "topicsync_registration_bulk_duration_seconds",
    "Time MongoDB took for a bulk write of registrations and removals.",
    writeSeconds,
  );
  return ({ writes, tookMs }: { readonly writes: number; readonly tookMs: number }): void => {
    bulkSize.observe(writes);
    bulkDuration.observe(tookMs / 1_000);
  };
}

function createHttpMetrics({ counter, histogram }: Declare) {
  const durations = histogram(
    "topicsync_http_request_duration_seconds",
    "Time from the headers of a request until its response was sent, without event streams.",
    requestSeconds,
    ...(["method", "route", "status"] as const),
  );
  const rejections = counter(
    "topicsync_http_rejections_total",
    "Rejected requests, by the code of the error.",
    "code",
  );
  // An alert watches the errors of the server.
  for (const [code, status] of Object.entries(statuses)) if (status >= 500) rejections.inc({ code }, 0);
  const failedLogins = counter(
    "topicsync_failed_logins_total",
    "Requests with a wrong user name or password, or of a disabled user.",
  );
  return {
    /** Call with each HTTP request once its response is sent. */
    recordRequest: ({ method, route, status, seconds, errorCode, isFailedLogin }: MeasuredRequest): void => {
      durations.observe({ method, route, status }, seconds);
      if (errorCode !== undefined) rejections.inc({ code: errorCode });
      if (isFailedLogin) failedLogins.inc();
    },
    /** Call with each HTTP request that is rejected before its route is known. */
    recordRejectedRequest: (code: ErrorCode): void => {
      rejections.inc({ code });
    },
  };
}
