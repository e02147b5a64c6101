import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import { createJsonOption } from "../support/options.ts";
import { median, printReports, reportProgress, type Report } from "../support/report.ts";
import { startStack, type BenchStack } from "../support/stack.ts";
import { measurements, type Measurement, type Row } from "./rows.ts";
import { shortMeasurements } from "./short.ts";

/** Values by the names of rows, and when they were measured. */
type Reference = Record<string, { readonly value: number; readonly date: string }>;

interface CheckOptions {
  readonly short?: true;
  readonly peers?: true;
  readonly only?: readonly string[];
  readonly update?: true;
  readonly json?: true;
}

const referenceFile = join(import.meta.dirname, "../reference.json");
/** A smaller loss is within the differences between runs. The short form runs on busy machines, too. */
const maxLoss = { long: 0.1, short: 0.2 };

export const checkCommand = (): Command =>
  new Command("check")
    .description(
      "compares figures with their aims and with bench/reference.json; exits with 1 if one is more than 10 % worse than there",
    )
    .option("--short", "only CPU time compared with floors, in about three minutes; allows 20 %")
    .option("--peers", "also what downloads other products or takes an hour")
    .option("--only <words...>", "only rows whose name contains one of the words")
    .option("--update", "write what is measured to bench/reference.json instead")
    .addOption(createJsonOption())
    .action(async (options: CheckOptions) => {
      const chosen = choose(options);
      if (chosen.length === 0) throw new Error("no row has such a name; --peers adds rows");
      await using stack = await startStack(options.short ? "memory" : "both", { forLatency: true });
      const reference = JSON.parse(readFileSync(referenceFile, "utf8")) as Reference;
      const found = await measureAll(stack, chosen, { reference, options });
      if (options.update) {
        const date = new Date().toISOString().slice(0, 10);
        for (const { name, value } of found) reference[name] = { value: Number(value.toPrecision(3)), date };
        writeFileSync(referenceFile, `${JSON.stringify(reference, undefined, 2)}\n`);
        process.stdout.write(`${referenceFile} written\n`);
        return;
      }
      printReports([toReport(found)], stack.broker.description, options);
      if (found.some(({ isWorse }) => isWorse)) process.exitCode = 1;
    });

const choose = ({ short, peers, only }: CheckOptions): readonly Measurement[] =>
  (short ? shortMeasurements : measurements).filter(
    ({ rows, isLong }) =>
      (peers || !isLong) &&
      (only === undefined || rows.some(({ name }) => only.some((word) => name.includes(word)))),
  );

interface Found extends Row {
  readonly value: number;
  readonly rounds: readonly number[];
  /** NaN if there is none. */
  readonly reference: number;
  readonly isWorse: boolean;
}

interface Comparison {
  readonly reference: Reference;
  readonly options: CheckOptions;
}

async function measureAll(
  stack: BenchStack,
  chosen: readonly Measurement[],
  comparison: Comparison,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const one of chosen) {
    reportProgress(`measuring ${one.rows.map(({ name }) => name).join("; ")}`);
    let all = await compare(stack, one, comparison);
    if (comparison.options.short && !comparison.options.update && all.some(({ isWorse }) => isWorse)) {
      reportProgress("worse: measuring it once more");
      all = await compare(stack, one, comparison);
    }
    found.push(...all);
  }
  return found;
}

async function compare(
  stack: BenchStack,
  measurement: Measurement,
  { reference, options }: Comparison,
): Promise<Found[]> {
  const values = await measurement.measure(stack);
  const loss = maxLoss[options.short ? "short" : "long"];
  return measurement.rows.map((row, index) => {
    const rounds = values[index] ?? [];
    const value = median(rounds);
    const known = reference[row.name]?.value ?? NaN;
    const isKept = row.isLessBetter ? value <= known / (1 - loss) : value >= known * (1 - loss);
    // Also without a value (NaN); a row of the short form needs a reference, too.
    const isWorse = !isKept && (Boolean(options.short) || Number.isNaN(value) || !Number.isNaN(known));
    return { ...row, value, rounds, reference: known, isWorse };
  });
}

const toReport = (found: readonly Found[]): Report => ({
  title: "check",
  head: ["", "aim", "now", "rounds", "reference", "change", ""],
  rows: found.map((row) => {
    const { name, unit, aim, isLessBetter, value, rounds, reference, isWorse } = row;
    const isMet = aim !== undefined && (isLessBetter ? value <= aim : value >= aim);
    return [
      unit === undefined ? name : `${name}, ${unit}`,
      aim === undefined ? "" : `${isLessBetter ? "≤" : "≥"} ${aim}`,
      format(value),
      rounds.length > 1 ? `${format(Math.min(...rounds))} to ${format(Math.max(...rounds))}` : "",
      format(reference),
      Number.isNaN(reference) ? "" : `${(100 * (value / reference - 1)).toFixed(0)} %`,
      [...(isWorse ? ["worse"] : []), ...(aim === undefined ? [] : [isMet ? "met" : "missed"])].join(", "),
    ];
  }),
  notes: ["Repeat the check on an idle machine before you look for a cause."],
  data: found,
});

const format = (value: number): string => (Number.isNaN(value) ? "–" : value.toFixed(value < 100 ? 2 : 0));
