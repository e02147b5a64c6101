import { arch, cpus, totalmem } from "node:os";

import Table from "cli-table3";

/** A benchmark's results, as a table and as JSON. */
export interface Report {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** Printed below the table. */
  readonly notes: readonly string[];
  /** The same results with every round, for --json. */
  readonly data: unknown;
}

/** Prints to standard error; standard output has only results. */
export const reportProgress = (text: string): void => void process.stderr.write(`${text}\n`);

/** Prints the reports with the date, the machine and the versions. */
export function printReports(
  reports: readonly Report[],
  broker: string | undefined,
  { json }: { json?: true },
): void {
  const processors = cpus();
  const where = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${processors.length} × ${processors[0]?.model ?? arch()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    broker,
  };
  if (json === true) {
    const results = Object.fromEntries(reports.map(({ title, data }) => [title, data]));
    process.stdout.write(`${JSON.stringify({ ...where, results }, undefined, 2)}\n`);
    return;
  }
  const software = [`Node ${where.node}`, ...(broker === undefined ? [] : [broker])].join(", ");
  process.stdout.write(`\n${where.date}, ${where.machine}, ${software}\n`);
  for (const { title, head, rows, notes } of reports) {
    const table = new Table({ head: [...head], style: { head: [], border: [] } });
    table.push(...rows.map((row) => [...row]));
    process.stdout.write(`\n${[title, table.toString(), ...notes].join("\n")}\n`);
  }
}

/** NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = Math.floor(sorted.length / 2);
  const lower = Math.ceil(sorted.length / 2) - 1;
  return ((sorted[lower] ?? NaN) + (sorted[upper] ?? NaN)) / 2;
}

/** The ratios of the rounds. NaN where one of the two was not measured. */
export const divideRounds = (
  values: readonly number[] = [],
  others: readonly number[] = [],
): readonly number[] => values.map((value, round) => value / (others[round] ?? NaN));

export const medianRatio = (values: readonly number[], others: readonly number[]): number =>
  median(divideRounds(values, others));

/** NaN for an empty list. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** A measured ratio and its target. */
export interface Ratio {
  readonly what: string;
  readonly ratio: number;
  readonly target: string;
  /** Undefined without a target. */
  readonly reached?: boolean;
}

export const atLeast = (target: number, one: { what: string; ratio: number }): Ratio => ({
  ...one,
  target: `at least ${target}`,
  reached: one.ratio >= target,
});

export const atMost = (text: string, target: number, one: { what: string; ratio: number }): Ratio => ({
  ...one,
  target: `at most ${text}`,
  reached: one.ratio <= target,
});

export const withoutTarget = (one: { what: string; ratio: number }): Ratio => ({ ...one, target: "–" });

export const reportTargets = (title: string, ratios: readonly Ratio[], notes: readonly string[]): Report => ({
  title: `${title}, compared with the targets`,
  head: ["ratio of", "ratio", "target", "reached"],
  rows: ratios.map(({ what, ratio, target: aim, reached }) => [
    what,
    ratio.toFixed(3),
    aim,
    formatReached(reached),
  ]),
  notes,
  data: ratios,
});

const formatReached = (reached: boolean | undefined): string =>
  reached === undefined ? "–" : reached ? "yes" : "no";
