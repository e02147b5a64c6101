import { RejectionError } from "@topicsync/lib/errors";
import type { SyncStatus } from "../../../schemas/sync-status.ts";
import { createMetricsText } from "../../../src/service/metrics-text.ts";
import { createMetrics } from "../../../src/service/metrics.ts";

/** A series in Prometheus' text format, with the labels that scraping adds. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const partition: SyncStatus["partitions"][number] = {
  partition: 0,
  committedOffset: 5,
  logStart: 0,
  logEnd: 7,
  lastStableOffset: 7,
  lagRecords: 2,
  lagSeconds: 1.5,
  openTransactionSeconds: 0,
  assigned: true,
  owner: "this process",
  state: "reading",
  reason: null,
  cause: null,
};

const status: SyncStatus = {
  group: "topicsync",
  topic: "topicsync.announcements",
  consumer: "assigned",
  partitions: [partition],
  since: null,
  counts: null,
  router: {
    group: "topicsync.router",
    topic: "events",
    consumer: "assigned",
    partitions: [partition],
    counts: null,
    index: null,
    backfills: 0,
    busiest: [],
  },
  pushFeedback: {
    group: "topicsync.push-feedback",
    topic: "push-feedback",
    consumer: "assigned",
    partitions: [partition],
    counts: null,
  },
  problems: [],
};

/** Returns every series that `GET /metrics` can have, and `up`, which scraping adds. */
export async function collectSeries(): Promise<Series[]> {
  const metrics = createMetrics();
  const metricsText = createMetricsText(metrics, {
    getSyncStatus: () => Promise.resolve(status),
    picker: () => ({ topics: 0, unconditional: 0, unreadable: 0 }),
    getRegistrations: () => ({ waiting: 0, writing: 0 }),
    getPoolUse: () => ({ inUse: 0, waiting: 0 }),
    getCertificates: () => [{ setting: "KAFKA_TLS_CERT", expiresAt: 0 }],
    readiness: () =>
      Promise.resolve(
        Object.fromEntries(
          ["mongodb", "kafka", "consumer", "pushFeedback", "router"].map((check) => [check, { ok: true }]),
        ),
      ),
  });
  metrics.recordAnnouncements({
    decision: {
      counts: { created: 0, updated: 0, adopted: 0, unchanged: 0, retired: 0, rejected: 1 },
      rejections: [{ offset: 0, rejection: new RejectionError("MALFORMED_JSON", "") }],
      writes: { replaced: [], removed: [], retired: [], updated: [], created: [] },
      unknown: [],
    },
    records: [{ offset: 0, timestamp: "0", key: null, value: null, headers: [] }],
    storedOn: 0,
    tookMs: 1,
  });
  metrics.recordRequest({
    ...{ method: "POST", route: "/", status: 401, seconds: 0 },
    errorCode: "UNAUTHENTICATED",
    isFailedLogin: true,
  });
  metrics.recordFeedback({
    counts: { deactivated: 0, renewed: 0, inactive: 0, unknown: 0, rejected: 1 },
    writes: [],
    rejections: [{ offset: 0, rejection: new RejectionError("BAD_TOKEN", "") }],
  });
  metrics.recordEvents({
    events: [],
    forwarded: 1,
    unroutable: 1,
    missedTimes: 1,
    rejected: ["NO_EGRESS_TOPIC"],
    producedOn: [0],
    routedOn: 0,
    tookMs: 1,
  });
  const exposed = `up 1\n${await metricsText.render()}`;
  return exposed.split("\n").flatMap((line) => {
    const [, name, labels = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: { ...scraped, ...parseLabels(labels) } }];
  });
}

const scraped = { job: "topicsync", instance: "127.0.0.1:8080" };

const parseLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );

/** Returns the selectors in a text that match none of the series. */
export function findUnmatchedSelectors(query: string, series: readonly Series[]): string[] {
  const selectors = [...query.matchAll(/\b((?:topicsync|process|nodejs)_\w+|up(?=\{))(?:\{([^}]*)\})?/g)];
  return selectors.flatMap(([selector, name = "", matchers = ""]) =>
    series.some((one) => one.name === name && matchesLabels(one, matchers)) ? [] : [selector],
  );
}

function matchesLabels({ labels }: Series, matchers: string): boolean {
  return [...matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].every(
    ([, label = "", how, value = ""]) => {
      const found = labels[label];
      if (found === undefined) return false;
      const isMatch =
        how?.endsWith("~") === true ? new RegExp(`^(?:${value})$`).test(found) : found === value;
      return isMatch !== how?.startsWith("!");
    },
  );
}
