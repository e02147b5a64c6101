import { httpFloor, httpService, parseServer, type RegistrationServer } from "./contestants.ts";
import { isInvalid, type Figures, type Measurement } from "./measure.ts";
import {
  atLeast,
  atMost,
  median,
  medianRatio,
  reportTargets,
  withoutTarget,
  type Ratio,
  type Report,
} from "../support/report.ts";

/** One row per server and kind of load, each the median of the rounds. */
export function reportServers(
  measurements: readonly Measurement[],
  { generator, seconds, rounds, pool }: { generator: string; seconds: number; rounds: number; pool: number },
): Report {
  return {
    title: "http",
    head: [
      "store",
      "connections",
      "tokens",
      "server",
      "registrations/s",
      "p50, ms",
      "p99, ms",
      "CPU per registration, µs",
    ],
    rows: groupRounds(measurements).map((rounds) => {
      const [{ store, connections, tokens, server }] = rounds;
      const getMedian = (name: keyof Measurement["found"]): number =>
        median(rounds.map(({ found }) => found[name]));
      return [
        store.description,
        connections,
        tokens,
        server,
        getMedian("perSecond").toFixed(0),
        getMedian("p50").toFixed(2),
        getMedian("p99").toFixed(2),
        getMedian("cpuMicros").toFixed(0),
      ];
    }),
    notes: [
      `Load by ${generator} for ${seconds} s after a warm-up; median of ${rounds} rounds. Repeated tokens: ${pool}. CPU: user and system time of the server's process.`,
      describeFailures(measurements),
    ],
    data: measurements,
  };
}

function describeFailures(measurements: readonly Measurement[]): string {
  const bad = measurements.filter(({ found }) => isInvalid(found));
  if (bad.length === 0) return "Every request succeeded, and every new token is in the store.";
  return [
    "INVALID, because requests failed:",
    ...bad.map(
      ({ store, server, connections, tokens, round, found }) =>
        `${store.description}, ${server}, ${connections} connections, ${tokens} tokens, round ${round}: ` +
        `${found.accepted} accepted, ${found.rejected} rejected, ${found.broken} without a response, ${found.missing} accepted but not stored`,
    ),
  ].join("\n");
}

type Rounds = readonly [Measurement, ...Measurement[]];

/** Groups the rounds of the same measurement, in order of appearance. */
function groupRounds(measurements: readonly Measurement[]): Rounds[] {
  const groupRounds = new Map<string, [Measurement, ...Measurement[]]>();
  for (const one of measurements) {
    const key = JSON.stringify([one.store.kind, one.connections, one.tokens, one.server]);
    const group = groupRounds.get(key);
    if (group === undefined) groupRounds.set(key, [one]);
    else group.push(one);
  }
  return [...groupRounds.values()];
}

/** A figure of the service as a multiple of another server's. */
interface Comparison {
  readonly what: string;
  readonly figure: keyof Figures;
  readonly reference: RegistrationServer;
}

const rate = { what: "registrations/s ÷ floor", figure: "perSecond", reference: httpFloor } as const;
const rateBesideParse = {
  what: "registrations/s ÷ Parse Server",
  figure: "perSecond",
  reference: parseServer,
} as const;
const p99 = { what: "p99 ÷ floor", figure: "p99", reference: httpFloor } as const;
const cpu = { what: "CPU per registration ÷ floor", figure: "cpuMicros", reference: httpFloor } as const;
const comparisons: readonly Comparison[] = [rate, rateBesideParse, p99, cpu];

type Kind = Pick<Measurement, "store" | "connections" | "tokens">;

/** Compares the service with the floor and with Parse Server. */
export function compareServers(measurements: readonly Measurement[]): Report {
  const kinds = measurements.filter(({ server, round }) => server === httpService.name && round === 1);
  const ratios = kinds.flatMap((kind) =>
    comparisons.flatMap((comparison) => {
      const ratio = calculateRatio(comparison, kind, measurements);
      if (Number.isNaN(ratio)) return [];
      const what = `${comparison.what}: ${kind.store.kind}, ${kind.connections} connections, ${kind.tokens} tokens`;
      return [addTarget(comparison, kind, { what, ratio })];
    }),
  );
  return reportTargets("http", ratios, ["Medians of each round's ratio."]);
}

/** NaN if one of the two was not measured. */
export function calculateRatio(
  { figure, reference: beside }: Omit<Comparison, "what">,
  kind: Kind,
  measurements: readonly Measurement[],
): number {
  const rounds = ({ name }: RegistrationServer): readonly number[] =>
    measurements
      .filter(
        ({ server, store, connections, tokens }) =>
          server === name &&
          store === kind.store &&
          connections === kind.connections &&
          tokens === kind.tokens,
      )
      .map(({ found }) => found[figure]);
  return medianRatio(rounds(httpService), rounds(beside));
}

/** Targets exist for 1 and 64 connections. */
function addTarget(
  comparison: Comparison,
  { store, connections }: Kind,
  one: { what: string; ratio: number },
): Ratio {
  if (store.kind === "memory" && connections === 64) {
    if (comparison === rate) return atLeast(2.5, one);
    if (comparison === rateBesideParse) return atLeast(50, one);
    if (comparison === p99) return atMost("1", 1, one);
  }
  if (store.kind === "memory" && connections === 1 && comparison === rate) return atLeast(0.85, one);
  if (store.kind === "embedded" && connections === 64 && comparison === rate) return atLeast(2, one);
  return withoutTarget(one);
}
