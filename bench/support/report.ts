import { arch, cpus, totalmem } from "node:os";

import Table from "cli-table3";

/** What a measurement found: tables for people, plain values for programs. */
export interface Report {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** What has to be known to read the table. */
  readonly notes: readonly string[];
  /** The same, and every single round, under names. */
  readonly data: unknown;
}

/** Says how far it is, on the standard error: the results alone go to the standard output. */
export const progress = (text: string): void => void process.stderr.write(`${text}\n`);

/** Prints what was found, with the machine, the versions (the broker's where there is one) and the date. */
export function print(
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

/** The value in the middle, or between the two in the middle; NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = Math.floor(sorted.length / 2);
  const lower = Math.ceil(sorted.length / 2) - 1;
  return ((sorted[lower] ?? NaN) + (sorted[upper] ?? NaN)) / 2;
}

/** The value below which this share of the values lies. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;
