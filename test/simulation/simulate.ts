/** `npm run simulate`: runs simulated worlds, and repeats and shortens failing ones. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";

import { Option, program } from "commander";

import { runMutants } from "./mutate.ts";
import { formatRegression, readRegressions } from "./regressions.ts";
import {
  chooseWorld,
  getSteps,
  runSteps,
  shrink,
  type RunOptions,
  type Schedule,
  type Summary,
  type WorldName,
} from "./run.ts";
import type { WorkerReport, WorkerTask } from "./worker.ts";

interface Options {
  readonly seed?: string;
  readonly schedule?: string;
  readonly tries: string;
  readonly from: string;
  readonly seeds: string;
  readonly minutes?: string;
  readonly world?: WorldName;
  readonly length: string;
  readonly trace?: true;
  readonly mutants?: string | true;
  readonly record?: true;
  readonly json?: true;
}

const { seed, schedule, tries, from, seeds, minutes, world, length, trace, mutants, record, json } = program
  .name("npm run simulate --")
  .description(
    "Runs the sync, the registrations and the router in simulated worlds, in which time, network, broker, store and every fault follow from a seed. " +
      "Exits with 1 if one of the checks fails.",
  )
  .option("--seed <number>", "run one seed, and shorten its schedule if it fails")
  .option("--schedule <name>", "run a schedule of test/simulation/regressions.jsonl")
  .option("--tries <count>", "with --schedule: run it with this many seeds, until one fails", "1")
  .option("--trace", "with --seed or --schedule: print everything that happens")
  .option("--from <number>", "the first seed", "1")
  .option("--seeds <count>", "how many seeds to run", "400")
  .option("--minutes <number>", "run as many seeds as this time allows")
  .addOption(
    new Option("--world <name>", "run only this kind of world").choices(["sync", "registrations", "router"]),
  )
  .option("--length <number>", "the largest number of steps in a run", "150")
  .option("--mutants [word]", "break the product in known ways, and tell how soon each is found")
  .option("--record", "with --mutants: keep the results for the list in test/simulation/README.md")
  .option("--json", "print the summary as JSON")
  .parse()
  .opts<Options>();

/** Steps of the worlds per second are reported as clock events: every message, timer and commit. */
async function runMany(): Promise<Summary> {
  const startedAt = performance.now();
  const deadline = minutes === undefined ? undefined : startedAt + Number(minutes) * 60_000;
  const stride = availableParallelism();
  const totals = { seeds: 0, steps: 0, faults: 0, checks: 0, virtualMs: 0 };
  const failures: { seed: number; world: WorldName; failure: string }[] = [];
  const showProgress = process.stderr.isTTY && json === undefined;

  const runWorker = (index: number): Promise<void> =>
    new Promise((done, reject) => {
      const workerData: WorkerTask = {
        first: Number(from) + index,
        stride,
        end: deadline === undefined ? Number(from) + Number(seeds) : undefined,
        world,
        length: Number(length),
      };
      const worker = new Worker(resolve(import.meta.dirname, "worker.ts"), { workerData });
      const end = (): void =>
        void worker.terminate().then(() => {
          done();
        }, reject);
      worker.on("error", reject);
      worker.on("message", (message: WorkerReport) => {
        if ("done" in message) {
          end();
          return;
        }
        totals.seeds += 1;
        if ("failure" in message) {
          failures.push(message);
          if (json === undefined) console.log(`seed ${message.seed} (${message.world}): ${message.failure}`);
        } else {
          const { faults, events, checks, virtualMs } = message.result;
          totals.faults += faults;
          totals.steps += events;
          totals.checks += checks;
          totals.virtualMs += virtualMs;
        }
        if (showProgress && totals.seeds % 50 === 0)
          process.stderr.write(
            `\r${totals.seeds} seeds, ${totals.faults} faults, ${failures.length} failures `,
          );
        if ((deadline !== undefined && performance.now() > deadline) || failures.length >= maxFailures) end();
      });
    });

  await Promise.all(Array.from({ length: stride }, (_, index) => runWorker(index)));
  if (showProgress) process.stderr.write("\r\x1b[K");
  const { virtualMs, ...counts } = totals;
  return {
    ...counts,
    virtualHours: Math.round(virtualMs / 360_000) / 10,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    failures,
  };
}

const maxFailures = mutants === undefined && json !== undefined ? 1 : 10;

const format = (number: number): string => number.toLocaleString("en-US");

function printSummary(summary: Summary): void {
  const { faults, seconds, failures } = summary;
  console.log(
    [
      `${format(summary.seeds)} seeds, ${format(summary.steps)} steps (${format(Math.round(summary.steps / seconds))}/s), ` +
        `${format(faults)} faults (${format(Math.round(faults / seconds))}/s), ${format(summary.checks)} checks, ` +
        `${format(summary.virtualHours)} simulated hours in ${seconds} s`,
      failures.length === 0 ? "No violation." : `${failures.length} seeds failed; repeat one with --seed.`,
    ].join("\n"),
  );
}

/** Runs steps, and prints the outcome. Returns whether no check failed. */
async function runAndPrint({ seed, world, steps }: Schedule): Promise<boolean> {
  try {
    const { lines, ...result } = await runSteps({ seed, world, onTrace: trace && console.log }, steps);
    console.log(
      json === undefined ? { ...result, lines: Object.fromEntries(lines) } : JSON.stringify(result),
    );
    return true;
  } catch (error) {
    console.log(`seed ${seed} (${world}), ${steps.length} steps: ${String(error)}`);
    return false;
  }
}

async function runOneSeed(options: RunOptions): Promise<boolean> {
  const { seed, world } = options;
  if (await runAndPrint({ seed, world, steps: getSteps(options) })) return true;
  console.log("looking for a shorter schedule");
  const steps = await shrink(options);
  if (steps === undefined) throw new Error("the seed failed, but does not fail again");
  const name = `${world} ${seed}`;
  console.log(
    `${steps.length} steps; run them with --schedule "${name}" once test/simulation/regressions.jsonl has this line:\n` +
      formatRegression({ name, world, seed, steps }),
  );
  return false;
}

async function runSchedule(name: string): Promise<boolean> {
  const found = readRegressions().find((one) => one.name === name);
  if (found === undefined) throw new Error(`no schedule is named "${name}"`);
  for (let tried = 0; tried < Number(tries); tried += 1)
    if (!(await runAndPrint({ ...found, seed: found.seed + tried }))) return false;
  return true;
}

async function main(): Promise<boolean> {
  if (mutants !== undefined) return runMutants(mutants === true ? "" : mutants, { json, record });
  if (schedule !== undefined) return runSchedule(schedule);
  if (seed !== undefined)
    return runOneSeed({
      seed: Number(seed),
      world: world ?? chooseWorld(Number(seed)),
      length: Number(length),
    });
  const summary = await runMany();
  if (json === undefined) printSummary(summary);
  else console.log(JSON.stringify(summary));
  return summary.failures.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
