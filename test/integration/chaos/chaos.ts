/**
 * `npm run chaos`: sends announcements of every kind while instances, store and two brokers are killed
 * repeatedly, then compares the final state with an independent model. With `--events`, sends events instead,
 * and compares what is forwarded. `npm run chaos -- --help` lists the options.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";

import { getErrorMessage } from "@topicsync/lib/errors";
import { createProgress } from "../../../src/cli/output/progress.ts";
import { randomSeed } from "../../support/random.ts";
import { runEventChaos, type EventChaosResult } from "./events/run.ts";
import { runChaos, type ChaosResult } from "./run.ts";
import type { SceneOptions } from "./scene.ts";

interface Options {
  readonly announcements: number;
  readonly events?: number | true;
  readonly topics: number;
  readonly changingTopics: boolean;
  readonly seed: number;
  readonly kills: number;
  readonly freezes: number;
  readonly storeKills: number;
  readonly brokerKills: number;
  readonly growths: number;
  readonly instances: number;
  readonly partitions: number;
  readonly minutes: number;
}

const options = new Command("npm run chaos --")
  .description(
    "Compares the service with an independent model while instances, store and two brokers are killed repeatedly.",
  )
  .option("--announcements <n>", "number of announcements", parseCount, 100_000)
  .option("--events [n]", "send this many events instead of announcements (default: 100000)", parseCount)
  .option("--topics <n>", "number of topics; with --events", parseCount, 2_000)
  .option("--changing-topics", "change topics during the run; with --events", false)
  .option("--seed <n>", "seed of the records and the fault plan, to repeat a run", parseCount, randomSeed())
  .option("--kills <n>", "number of times an instance is killed", parseCount, 20)
  .option("--freezes <n>", "number of times an instance is paused until the group removes it", parseCount, 3)
  .option("--store-kills <n>", "number of times the store is killed", parseCount, 2)
  .option("--broker-kills <n>", "number of times one of the two brokers is killed", parseCount, 4)
  .option("--growths <n>", "number of times partitions are added; with --events", parseCount, 6)
  .option("--instances <n>", "maximum number of concurrent instances", parseCount, 3)
  .option("--partitions <n>", "partitions of the announcements topic and of the events topic", parseCount, 4)
  .option("--minutes <n>", "time limit of the run", parseCount, 30)
  .parse()
  .opts<Options>();

function parseCount(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

const maxDifferences = 10;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** The result of a run, of announcements or of events. */
interface Report {
  readonly differences: readonly string[];
  readonly stack: string;
  readonly rows: readonly (readonly [name: string, count: number])[];
}

async function runAnnouncements(scene: SceneOptions): Promise<Report> {
  const result = await runChaos({ ...scene, announcements: options.announcements });
  return { ...result, rows: toRows(result) };
}

async function runEvents(scene: SceneOptions, events: number): Promise<Report> {
  const { topics, changingTopics: changesTopics } = options;
  const result = await runEventChaos({ ...scene, events, topics, changesTopics });
  return { ...result, rows: toEventRows(result) };
}

async function run(): Promise<number> {
  const { announcements, seed, kills, freezes, storeKills, brokerKills } = options;
  const { growths, instances, partitions, minutes } = options;
  const events = options.events === true ? 100_000 : options.events;
  const folder = mkdtempSync(join(tmpdir(), "topicsync-chaos-"));
  print(`seed ${seed}, logs in ${folder}`);
  const begun = Date.now();
  const [done, total] =
    events === undefined ? (["applied", announcements] as const) : (["forwarded", events] as const);
  const progress = createProgress(done, total);
  const scene = {
    seed,
    partitions,
    instances,
    faults: {
      kill: kills,
      freeze: freezes,
      store: storeKills,
      broker: brokerKills,
      grow: events === undefined ? 0 : growths,
    },
    limitMs: minutes * 60_000,
    folder,
    log: (line: string) => {
      if (!process.stdout.isTTY) print(`  ${line}`);
    },
    progress: (count: number) => {
      progress.at(count);
    },
  };
  try {
    const report = await (events === undefined ? runAnnouncements(scene) : runEvents(scene, events));
    progress.end(`everything ${done} and compared after ${Math.round((Date.now() - begun) / 1_000)} s`);
    print(formatSummary(report));
    return reportResult(report, folder);
  } catch (error) {
    print(`${getErrorMessage(error)}\nSeed ${seed}; logs in ${folder}`);
    return 1;
  }
}

function reportResult({ differences }: Report, folder: string): number {
  if (differences.length === 0) {
    print(`No differences from the model. Seed ${options.seed}.`);
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  print(`${differences.length} differences from the model; seed ${options.seed}, logs in ${folder}:`);
  for (const difference of differences.slice(0, maxDifferences)) print(`  - ${difference}`);
  return 1;
}

function formatSummary({ stack, rows }: Report): string {
  const chars = { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" };
  const table = new Table({ head: ["", "count"], chars, style: { head: [], border: [] } });
  table.push(...rows.map(([name, count]) => [name, count]));
  return `${stack}\n${table.toString()}`;
}

const toRows = (result: ChaosResult): Report["rows"] => [
  ["records in the log", result.records],
  ...listByName(result.outcomes, "  "),
  ["topics stored", result.topics],
  ["retired topics", result.retired],
  ["rejected records", result.rejected],
  ["dead letters", result.deadLetters],
  ...listByName(result.requests, "requests, "),
];

const toEventRows = ({ counts, announcements, requests, partitions }: EventChaosResult): Report["rows"] => [
  ["committed events", sum(counts.events)],
  ...listByName(counts.events, "  "),
  ["events that no topic wants", counts.unmatched],
  ["announcements of topics", sum(announcements)],
  ...listByName(announcements, "  "),
  ["copies", counts.copies],
  ["most copies of an event", counts.maxCopies],
  ["copies that depend on the time of a change", counts.undecided],
  ["dead letters", counts.letters],
  ...listByName(partitions, "partitions in the end, "),
  ...listByName(requests, "requests, "),
];

const sum = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((total, count) => total + count, 0);

const listByName = (counts: ReadonlyMap<string, number>, prefix: string) =>
  [...counts].toSorted().map(([name, count]) => [`${prefix}${name}`, count] as const);

// A signal skips the exit handlers that kill the instances; exit explicitly instead.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code));
}
process.exitCode = await run();
