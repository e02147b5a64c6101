/**
 * The short form of `npm run bench -- check`: CPU time per item of the service and its floor, in turns, in as
 * many short rounds as their differences need. Registrations and the picker are left out: their
 * medians differed by a fifth and more from run to run.
 */
import { measureRouterRounds } from "../router/router.ts";
import { measureStarts } from "../start.ts";
import { fillTopic } from "../support/announcements.ts";
import { service } from "../support/contestant.ts";
import { median, reportProgress } from "../support/report.ts";
import { withWorkspace, type BenchStack } from "../support/stack.ts";
import { floor, measureFirstPass } from "../sync/sync.ts";
import { findStore, type Measurement } from "./rows.ts";

const announcements = 40_000;
const events = 100_000;

export const shortMeasurements: readonly Measurement[] = [
  { rows: [{ name: "announcements: CPU, floor ÷ service" }], measure: measureAnnouncements },
  { rows: [{ name: "router: CPU, floor ÷ router" }], measure: measureRouter },
  { rows: [{ name: "start: CPU, loading the libraries ÷ ready" }], measure: measureStart },
];

const minRounds = 4;
const maxRounds = 7;
/** Of a median, as a share of it: a fifth of the loss that fails the check. */
const maxError = 0.04;

/** Collects rounds with a ratio for each row. */
function createRounds(title: string) {
  const values: number[][] = [];
  return {
    values,
    /** Returns whether another round is needed. */
    add(...ratios: readonly number[]): boolean {
      for (const [row, ratio] of ratios.entries()) (values[row] ??= []).push(ratio);
      const rounds = values[0]?.length ?? 0;
      reportProgress(`${title}, round ${rounds}: ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}`);
      return (
        rounds < minRounds || (rounds < maxRounds && values.some((row) => estimateError(row) > maxError))
      );
    },
  };
}

/** The standard error of the median of normally distributed values, as a share of it. */
function estimateError(values: readonly number[]): number {
  const middle = median(values);
  const deviation = median(values.map((value) => Math.abs(value - middle)));
  return (1.86 * deviation) / Math.sqrt(values.length) / middle;
}

async function measureAnnouncements(stack: BenchStack) {
  const store = findStore(stack, "memory");
  const { topic, count } = await fillTopic(stack.broker.address, "bench.check.announcements", announcements);
  const measure = (contestant: typeof service): Promise<number> =>
    withWorkspace(
      stack,
      { store, topic },
      async (workspace, db) => (await measureFirstPass(contestant, { workspace, db, count })).cpuMicros,
    );
  const rounds = createRounds("announcements");
  while (rounds.add((await measure(floor)) / (await measure(service))));
  return rounds.values;
}

async function measureRouter(stack: BenchStack) {
  const rounds = createRounds("router");
  await measureRouterRounds(stack, findStore(stack, "memory"), { events, peer: false }, (found) => {
    const [router, beside] = (["router", "floor"] as const).map((way) =>
      found.findLast((one) => one.way === way),
    );
    return rounds.add((beside?.cpuMicros ?? NaN) / (router?.cpuMicros ?? NaN));
  });
  return rounds.values;
}

async function measureStart(stack: BenchStack) {
  const rounds = createRounds("start");
  await measureStarts(stack, findStore(stack, "memory"), (round) =>
    rounds.add(round.floor.cpuMicros / round.service.cpuMicros),
  );
  return rounds.values;
}
