import { median, type Report } from "../support/report.ts";
import type { SoakCheck } from "./check.ts";
import type { SoakResult } from "./load.ts";
import type { BenchStore } from "../support/stack.ts";

export interface Soak {
  readonly store: BenchStore;
  /** Registrations per second. */
  readonly topRate: number;
  readonly rate: number;
  readonly minutes: number;
  readonly result: SoakResult;
  readonly check: SoakCheck;
  /** Resident memory of the service in MB (2^20 bytes), sampled each second. */
  readonly memory: readonly number[];
  /** Downtime of each kill in ms. */
  readonly kills: readonly number[];
}

/** Acknowledged data is lost, or a registration was never acknowledged. Without kills, any error fails. */
export const isFailed = ({ result, check, kills }: Soak): boolean =>
  check.missing + check.outdated + result.unacknowledged > 0 ||
  (kills.length === 0 && countErrors(result) > 0);

const countErrors = ({ outcomes: ends }: SoakResult): number =>
  Object.entries(ends).reduce((sum, [end, count]) => (end === "200" ? sum : sum + count), 0);

export function reportSoak(found: readonly Soak[]): Report {
  return {
    title: "soak",
    head: [
      "store",
      "registrations/s, of the maximum",
      "acknowledged",
      "p50, p99, max, ms",
      "errors",
      "memory, MB",
      "kills",
      "tokens",
      "missing",
      "outdated",
    ],
    rows: found.map(({ store, rate, topRate, result, check, memory, kills }) => [
      store.description,
      `${rate.toFixed(0)} of ${topRate.toFixed(0)}`,
      result.acknowledged,
      [result.p50, result.p99, result.max].map((time) => time.toFixed(1)).join(", "),
      formatErrors(result),
      kills.length === 0 ? formatMemory(memory) : `max ${Math.max(...memory)}`,
      kills.length === 0 ? "–" : `${kills.length}, downtime ${median(kills).toFixed(0)} ms`,
      check.tokens,
      check.missing,
      check.outdated,
    ]),
    notes: [
      ...found.map(
        (soak) =>
          `${soak.store.description}, ${soak.minutes} min: ${isFailed(soak) ? "FAILED" : "every acknowledged registration is stored and active"}.`,
      ),
      "Times are measured from when a registration was due. Errors: attempts without a 200; each is retried until it has one. Missing: acknowledged tokens that are not stored or not active. Outdated: last seen before the last acknowledged registration was sent.",
    ],
    data: found,
  };
}

function formatErrors(result: SoakResult): string {
  const others = Object.entries(result.outcomes).filter(([end]) => end !== "200");
  const texts = others.map(([end, count]) => `${end}: ${count}`);
  if (result.unacknowledged > 0) texts.push(`never acknowledged: ${result.unacknowledged}`);
  return texts.length === 0 ? "none" : texts.join(", ");
}

function formatMemory(samples: readonly number[]): string {
  const slope = calculateSlope(samples) * 60;
  return `${samples[0] ?? NaN} → ${samples.at(-1) ?? NaN}, ${slope.toFixed(1)}/min`;
}

/** The slope per sample, by least squares. */
function calculateSlope(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2;
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  const above = samples.reduce((sum, sample, index) => sum + (index - middle) * (sample - mean), 0);
  return above / samples.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
}
