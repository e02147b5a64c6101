import { median, type Report } from "../support/report.ts";
import type { SoakCheck } from "./check.ts";
import type { SoakResult } from "./load.ts";
import type { BenchStore } from "../support/stack.ts";

/** What a soak found. */
export interface Soak {
  readonly store: BenchStore;
  /** Registrations a second. */
  readonly topRate: number;
  readonly rate: number;
  readonly minutes: number;
  readonly result: SoakResult;
  readonly check: SoakCheck;
  /** Resident memory of the service in MB (2^20 bytes), each second. */
  readonly memory: readonly number[];
  /** How long each kill took, until the service accepted registrations again; milliseconds. */
  readonly kills: readonly number[];
}

/** Something that was acknowledged is gone, or was never acknowledged; without kills any error is bad. */
export const isBad = ({ result, check, kills }: Soak): boolean =>
  check.missing + check.outdated + result.unacknowledged > 0 ||
  (kills.length === 0 && countErrors(result) > 0);

/** Attempts that were not answered with 200. */
const countErrors = ({ ends }: SoakResult): number =>
  Object.entries(ends).reduce((sum, [end, count]) => (end === "200" ? sum : sum + count), 0);

/** What the soaks found. */
export function reportSoak(found: readonly Soak[]): Report {
  return {
    title: "soak",
    head: [
      "store",
      "a second, of the top",
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
      errorText(result),
      kills.length === 0 ? memoryText(memory) : `at most ${Math.max(...memory)}`,
      kills.length === 0 ? "–" : `${kills.length}, back after ${median(kills).toFixed(0)} ms`,
      ...[check.tokens, check.missing, check.outdated],
    ]),
    notes: [
      ...found.map(
        (soak) =>
          `${soak.store.description}, ${soak.minutes} min: ${isBad(soak) ? "FAILED" : "every acknowledged registration is in the store and active"}.`,
      ),
      "Times from when a registration was due. Errors: attempts without a 200; each is sent again until it has one. Missing: acknowledged tokens that are not in the store or not active; outdated: last seen before the last acknowledged registration was sent.",
    ],
    data: found,
  };
}

function errorText(result: SoakResult): string {
  const others = Object.entries(result.ends).filter(([end]) => end !== "200");
  const texts = others.map(([end, count]) => `${end}: ${count}`);
  if (result.unacknowledged > 0) texts.push(`never acknowledged: ${result.unacknowledged}`);
  return texts.length === 0 ? "none" : texts.join(", ");
}

/** The first, the last, and the slope of the line that fits best. */
function memoryText(samples: readonly number[]): string {
  const slope = calculateSlope(samples) * 60;
  return `${samples[0] ?? NaN} → ${samples.at(-1) ?? NaN}, ${slope.toFixed(1)} a minute`;
}

/** By least squares, per sample. */
function calculateSlope(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2;
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  const above = samples.reduce((sum, sample, index) => sum + (index - middle) * (sample - mean), 0);
  return above / samples.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
}
