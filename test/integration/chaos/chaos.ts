/**
 * `npm run chaos`: announcements of every kind while the service and what it runs on are killed again and again; in the end
 * everything has to be as an independent model says. `npm run chaos -- --help` tells the options.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";

import { createProgress } from "../../../src/cli/output/progress.ts";
import { getErrorMessage } from "../../../src/lib/errors.ts";
import { anySeed } from "./random.ts";
import { chaos, type ChaosResult } from "./run.ts";

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
  .description("Holds the service against a model while it is killed again and again.")
  .option("--announcements <n>", "how many announcements", count, 100_000)
  .option("--seed <n>", "makes the same announcements and the same plan again", count, anySeed())
  .option("--kills <n>", "how often an instance is killed", count, 20)
  .option("--freezes <n>", "how often an instance stands still until the group has shut it out", count, 3)
  .option("--store-kills <n>", "how often the store is killed", count, 2)
  .option("--broker-kills <n>", "how often the broker is killed", count, 1)
  .option("--instances <n>", "most instances at once", count, 3)
  .option("--partitions <n>", "partitions of the announcements topic", count, 4)
  .option("--minutes <n>", "the run fails when it is not through by then", count, 30)
  .parse()
  .opts<Options>();

function count(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError("It must be a number.");
  return Number(text);
}

const maxDifferencesShown = 10;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function run(): Promise<number> {
  const { announcements, seed, kills, freezes, storeKills, brokerKills, instances, partitions, minutes } =
    options;
  const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
  say(`seed ${seed}, logs in ${folder}`);
  const begun = Date.now();
  const progress = createProgress("applied", announcements);
  try {
    const result = await chaos({
      seed,
      announcements,
      partitions,
      instances,
      faults: { kill: kills, freeze: freezes, store: storeKills, broker: brokerKills },
      limitMs: minutes * 60_000,
      folder,
      log: (line) => {
        if (!process.stdout.isTTY) say(`  ${line}`);
      },
      progress: (applied) => {
        progress.at(applied);
      },
    });
    progress.end(`everything was applied after ${Math.round((Date.now() - begun) / 1_000)} s`);
    say(summaryOf(result));
    return verdict(result, folder);
  } catch (error) {
    say(`${getErrorMessage(error)}\nThe seed was ${seed}; the logs are in ${folder}`);
    return 1;
  }
}

function verdict({ differences }: ChaosResult, folder: string): number {
  if (differences.length === 0) {
    say(`Everything is as the model says. The seed was ${options.seed}.`);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  say(
    `${differences.length} differences to the model, with the seed ${options.seed}; the logs are in ${folder}:`,
  );
  for (const difference of differences.slice(0, maxDifferencesShown)) say(`  - ${difference}`);
  return 1;
}

function summaryOf(result: ChaosResult): string {
  const chars = { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" };
  const table = new Table({ head: ["what", "how many"], chars, style: { head: [], border: [] } });
  table.push(
    ["records in the log", result.records],
    ...[...result.outcomes].toSorted().map(([name, times]) => [`  ${name}`, times]),
    ["topics in the end", result.topics],
    ["retired topics", result.retired],
    ["refused records", result.refused],
    ["dead letters", result.deadLetters],
    ...[...result.requests].toSorted().map(([codec, times]) => [`requests, ${codec}`, times]),
  );
  return `${result.stack}\n${table.toString()}`;
}

// Whoever is ended by a signal runs no exit handlers, and these end the instances.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code));
}
process.exitCode = await run();
