import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import type { RejectionCode } from "@topicsync/lib/errors";
import type { MeasuredRequest } from "../../http/framework/observation.ts";
import { statuses, type ErrorCode } from "../operations/framework/errors.ts";
import type { StoredBatch } from "../../consumers/batch-handler.ts";
import { feedbackOutcomes, type FeedbackDecision } from "../installations/feedback.ts";
import type { RoutedBatch } from "../routing/tally.ts";
import type { AnnouncementOutcome, Decision } from "../topics/decide.ts";

/** The counters and histograms of this process. */
export interface Metrics {
  readonly registry: Registry;
  /** Call with each batch of announcements once it is stored. */
  recordAnnouncements(batch: StoredBatch<Decision>): void;
  /** Call with each batch of push feedback once it is stored. */
  recordFeedback(decision: FeedbackDecision): void;
  /** Call with each batch of events once it is forwarded. */
  recordEvents(batch: RoutedBatch): void;
  /** Call with each bulk write of registrations and removals. */
  readonly recordRegistrations: (bulk: { readonly writes: number; readonly tookMs: number }) => void;
  /** Call with each HTTP request once its response is sent. */
  readonly recordRequest: (request: MeasuredRequest) => void;
  /** Call with each HTTP request that is rejected before its route is known. */
  readonly recordRejectedRequest: (code: ErrorCode) => void;
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
const requestSeconds = [0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const storedSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3_600];

/** Creates the metrics, named by Prometheus' conventions, with those of the process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "topicsync_memory_limit_bytes",
    help: "Memory that this process may use: the limit of its container, or else the machine's memory.",
    registers,
  }).set(getMemoryLimit());
  new Gauge({
    name: "topicsync_heap_limit_bytes",
    help: "Size of JavaScript's heap beyond which this process ends.",
    registers,
  }).set(getHeapStatistics().heap_size_limit);
  return {
    registry,
    recordAnnouncements: createAnnouncementMetrics(registers),
    recordFeedback: createFeedbackMetrics(registers),
    recordEvents: createRouterMetrics(registers),
    recordRegistrations: createRegistrationMetrics(registers),
    ...createHttpMetrics(registers),
  };
}

/** Without a limit, Node returns 0 or the largest number of the control group. */
function getMemoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit === 0 ? totalmem() : Math.min(limit, totalmem());
}

function createAnnouncementMetrics(registers: Registry[]): Metrics["recordAnnouncements"] {
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
  return ({ decision, records, storedOn, tookMs }) => {
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

function createFeedbackMetrics(registers: Registry[]): Metrics["recordFeedback"] {
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
  return ({ counts, rejections }) => {
    for (const [outcome, count] of Object.entries(counts)) feedback.inc({ outcome }, count);
    for (const { rejection } of rejections) feedbackRejections.inc({ code: rejection.code });
  };
}

function createRouterMetrics(registers: Registry[]): Metrics["recordEvents"] {
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
  const missedTimes = new Counter({
    name: "topicsync_router_missed_times_total",
    help: "How often a filter compared a time with values of an event that are no RFC 3339 times, and so did not match.",
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
  return ({ events: routed, forwarded, rejected, producedOn, routedOn, tookMs, ...batch }) => {
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

function createRegistrationMetrics(registers: Registry[]): Metrics["recordRegistrations"] {
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
  return ({ writes, tookMs }) => {
    bulkSize.observe(writes);
    bulkDuration.observe(tookMs / 1_000);
  };
}

function createHttpMetrics(registers: Registry[]): Pick<Metrics, "recordRequest" | "recordRejectedRequest"> {
  const durations = new Histogram({
    name: "topicsync_http_request_duration_seconds",
    help: "Time from the headers of a request until its response was sent, without event streams.",
    labelNames: ["method", "route", "status"],
    buckets: requestSeconds,
    registers,
  });
  const rejections = new Counter({
    name: "topicsync_http_rejections_total",
    help: "Rejected requests, by the code of the error.",
    labelNames: ["code"],
    registers,
  });
  // An alert watches the errors of the server.
  for (const [code, status] of Object.entries(statuses)) if (status >= 500) rejections.inc({ code }, 0);
  const failedLogins = new Counter({
    name: "topicsync_failed_logins_total",
    help: "Requests with a wrong user name or password, or of a disabled user.",
    registers,
  });
  return {
    recordRequest({ method, route, status, seconds, errorCode, isFailedLogin }) {
      durations.observe({ method, route, status }, seconds);
      if (errorCode !== undefined) rejections.inc({ code: errorCode });
      if (isFailedLogin) failedLogins.inc();
    },
    recordRejectedRequest(code) {
      rejections.inc({ code });
    },
  };
}
