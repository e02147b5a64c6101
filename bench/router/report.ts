import type { Rate } from "../support/contestant.ts";
import {
  atLeast,
  atMost,
  median,
  medianRatio,
  reportTargets,
  type Ratio,
  type Report,
} from "../support/report.ts";
import { eventsPerSecond, type Latency } from "./latency.ts";

/** The contestants. */
export type Way = "floor" | "router" | "routers" | "streams";

const names: Readonly<Record<Way, string>> = {
  floor: "floor",
  router: "router",
  routers: "router, 2 instances",
  streams: "Kafka Streams",
};

/** One measurement of one contestant. */
export interface FoundRate extends Rate {
  readonly way: Way;
  readonly topics: number;
  /** Peak resident memory of all processes. */
  readonly peakMb: number;
  /** From the start of the router until all topics were loaded; NaN for other contestants. */
  readonly loadedMs: number;
}

export interface FoundLatency extends Latency {
  readonly way: Way;
  readonly topics: number;
}

interface Options {
  readonly events: number;
  readonly rounds: number;
  readonly partitions: number;
  readonly seconds: number;
}

const getAll = (
  found: readonly FoundRate[],
  { way, topics }: Pick<FoundRate, "way" | "topics">,
): readonly FoundRate[] => found.filter((one) => one.way === way && one.topics === topics);

type Figure = keyof Rate | "peakMb" | "loadedMs";

const getFigures = (found: readonly FoundRate[], figure: Figure): number[] => found.map((one) => one[figure]);

/** The median of the rounds' ratios; NaN where one of the two was not measured. */
export const compareWays = (
  found: readonly FoundRate[],
  { topics, figure }: { readonly topics: number; readonly figure: Figure },
  [way, other]: readonly [Way, Way],
): number =>
  medianRatio(
    getFigures(getAll(found, { way, topics }), figure),
    getFigures(getAll(found, { way: other, topics }), figure),
  );

/** Reports the medians of each contestant. */
export function reportRates(found: readonly FoundRate[], { events, rounds, partitions }: Options): Report {
  const groups = Map.groupBy(found, ({ way, topics }) => `${way} ${topics}`).values();
  const toMedian = (all: readonly FoundRate[], figure: Figure): number => median(getFigures(all, figure));
  return {
    title: "router",
    head: [
      "topics",
      "by",
      "events/s",
      "÷ floor",
      "÷ Streams",
      "CPU per event, µs",
      "peak memory, MB",
      "loaded in, s",
    ],
    rows: [...groups].flatMap((all) => {
      const [first] = all;
      if (first === undefined) return [];
      const { way, topics } = first;
      const perSecond = { topics, figure: "perSecond" } as const;
      return [
        [
          topics,
          names[way],
          formatNumber(toMedian(all, "perSecond"), 0),
          formatNumber(compareWays(found, perSecond, [way, "floor"]), 2),
          formatNumber(compareWays(found, perSecond, [way, "streams"]), 2),
          formatNumber(toMedian(all, "cpuMicros"), 1),
          formatNumber(toMedian(all, "peakMb"), 0),
          formatNumber(toMedian(all, "loadedMs") / 1_000, 1),
        ],
      ];
    }),
    notes: [
      `Medians of ${rounds} rounds, also for ratios, of ${events} events in ${partitions} partitions, the first quarter not counted. Every event matches one topic.`,
      "Every event was forwarded exactly once. CPU and memory are of the contestant's processes, without broker and store.",
    ],
    data: found,
  };
}

export const reportLatencies = (found: readonly FoundLatency[], { seconds }: Options): Report => ({
  title: "router, latency",
  head: ["topics", "by", "p50, ms", "p99, ms", "max, ms"],
  rows: found.map(({ topics, way, p50, p99, max }) => [
    topics,
    names[way],
    p50.toFixed(1),
    p99.toFixed(1),
    max.toFixed(1),
  ]),
  notes: [
    `${eventsPerSecond} events per second for ${seconds} s, from just before producer.send (acks=-1) to a read_committed consumer of the forwarded record.`,
  ],
  data: found,
});

const maxP99Ms = 50;

/** Compares with the targets what was measured of them. */
export function compareWithTargets(rates: readonly FoundRate[], latencies: readonly FoundLatency[]): Report {
  const p99 = latencies.find(({ way }) => way === "router")?.p99 ?? NaN;
  const perSecond = { topics: 10_000, figure: "perSecond" } as const;
  const ratios: Ratio[] = [
    atLeast(1.2, {
      what: "events/s ÷ Kafka Streams: 10000 topics",
      ratio: compareWays(rates, perSecond, ["router", "streams"]),
    }),
    atLeast(1.2, {
      what: "events/s of 2 instances ÷ Kafka Streams: 10000 topics",
      ratio: compareWays(rates, perSecond, ["routers", "streams"]),
    }),
    atLeast(0.8, { what: "events/s, 1000000 topics ÷ 10000", ratio: compareSizes(rates, 1_000_000, 10_000) }),
    atMost("1/4", 1 / 4, {
      what: "peak memory ÷ Kafka Streams: 100000 topics",
      ratio: compareWays(rates, { topics: 100_000, figure: "peakMb" }, ["router", "streams"]),
    }),
    atMost("1", 1, { what: `p99 ÷ ${maxP99Ms} ms: ${eventsPerSecond} events/s`, ratio: p99 / maxP99Ms }),
  ];
  const measured = ratios.filter(({ ratio }) => !Number.isNaN(ratio));
  return reportTargets("router", measured, []);
}

const compareSizes = (rates: readonly FoundRate[], topics: number, fewer: number): number =>
  medianRatio(
    getFigures(getAll(rates, { way: "router", topics }), "perSecond"),
    getFigures(getAll(rates, { way: "router", topics: fewer }), "perSecond"),
  );

const formatNumber = (value: number, digits: number): string =>
  Number.isNaN(value) ? "–" : value.toFixed(digits);
