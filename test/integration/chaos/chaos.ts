/**
 * `npm run chaos`: sends announcements of every kind while instances, store and broker are killed repeatedly,
 * then compares the final state with an independent model. `npm run chaos -- --help` lists the options.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";

import { createProgress } from "../../../src/cli/output/progress.ts";
import { getErrorMessage } from "../../../src/lib/errors.ts";
import { randomSeed } from "../../support/random.ts";
import { runChaos, type ChaosResult } from "./run.ts";

interface Options {
  readonly announcements: number;
  readonly seed: number;
  readonly kills: number;
  readonly freezes: number;
  readonly storeKills: number;
  readonly brokerKills: number;
  readonly instances: number;
  readonly partitions: number;
  readonly minutes: number;
}

const options = new Command("npm run chaos --")
  .description(
    "Compares the service with an independent model while instances, store and broker are killed repeatedly.",
  )
  .option("--announcements <n>", "number of announcements", parseCount, 100_000)
  .option(
    "--seed <n>",
    "seed of the announcements and the fault plan, to repeat a run",
    parseCount,
    randomSeed(),
  )
  .option("--kills <n>", "number of times an instance is killed", parseCount, 20)
  .option("--freezes <n>", "number of times an instance is paused until the group removes it", parseCount, 3)
  .option("--store-kills <n>", "number of times the store is killed", parseCount, 2)
  .option("--broker-kills <n>", "number of times the broker is killed", parseCount, 1)
  .option("--instances <n>", "maximum number of concurrent instances", parseCount, 3)
  .option("--partitions <n>", "partitions of the announcements topic", parseCount, 4)
  .option("--minutes <n>", "time limit of the run", parseCount, 30)
  .parse()
  .opts<Options>();

function parseCount(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

const maxDifferences = 10;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function run(): Promise<number> {
  const { announcements, seed, kills, freezes, storeKills, brokerKills, instances, partitions, minutes } =
    options;
  const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
  print(`seed ${seed}, logs in ${folder}`);
  const begun = Date.now();
  const progress = createProgress("applied", announcements);
  try {
    const result = await runChaos({
      seed,
      announcements,
      partitions,
      instances,
      faults: { kill: kills, freeze: freezes, store: storeKills, broker: brokerKills },
      limitMs: minutes * 60_000,
      folder,
      log: (line) => {
        if (!process.stdout.isTTY) print(`  ${line}`);
      },
      progress: (applied) => {
        progress.at(applied);
      },
    });
    progress.end(`everything applied after ${Math.round((Date.now() - begun) / 1_000)} s`);
    print(formatSummary(result));
    return reportResult(result, folder);
  } catch (error) {
    print(`${getErrorMessage(error)}\nSeed ${seed}; logs in ${folder}`);
    return 1;
  }
}

function reportResult({ differences }: ChaosResult, folder: string): number {
  if (differences.length === 0) {
    print(`No differences from the model. Seed ${options.seed}.`);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  print(`${differences.length} differences from the model; seed ${options.seed}, logs in ${folder}:`);
  for (const difference of differences.slice(0, maxDifferences)) print(`  - ${difference}`);
  return 1;
}

function formatSummary(result: ChaosResult): string {
  const chars = { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" };
  const table = new Table({ head: ["", "count"], chars, style: { head: [], border: [] } });
  table.push(
    ["records in the log", result.records],
    ...[...result.outcomes].toSorted().map(([name, times]) => [`  ${name}`, times]),
    ["topics stored", result.topics],
    ["retired topics", result.retired],
    ["rejected records", result.rejected],
    ["dead letters", result.deadLetters],
    ...[...result.requests].toSorted().map(([codec, times]) => [`requests, ${codec}`, times]),
  );
  return `${result.stack}\n${table.toString()}`;
}

// A signal skips the exit handlers that kill the instances; exit explicitly instead.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code));
}
process.exitCode = await run();
