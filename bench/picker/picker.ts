import { join, resolve } from "node:path";

import { Command } from "commander";

import { lastLines, runCommand } from "../../src/embedded/command.ts";
import { installEventRuler, type EventRuler } from "./event-ruler.ts";
import { jsonOption, positives } from "../support/options.ts";
import { compareWithAims } from "./ratios.ts";
import { furtherTopics, plan, type ContestantResult, type Found, type Way } from "./plan.ts";
import { createWorkload, workloads, type WorkloadName } from "./workload.ts";
import { median, print, progress, quantile, type Report } from "../support/report.ts";

interface PickerOptions {
  readonly topics: number[];
  readonly json?: true;
}

const defaultTopics = [10_000, 100_000, 1_000_000];
/** With more topics, the naive contestant takes too long. */
const maxNaiveTopics = 10_000;
const nodeOptions = ["--expose-gc", "--max-old-space-size=8192"];
const names: Readonly<Record<Way, string>> = { picker: "topicsync", ruler: "Event Ruler", naive: "naive" };

/** `bench picker`: topics picked for events, beside Event Ruler and a loop over all topics. */
export const pickerCommand = (): Command =>
  new Command("picker")
    .description("events per second, build time and memory of the topic picker, compared with Event Ruler")
    .option("--topics <list>", "comma-separated numbers of topics", positives, defaultTopics)
    .addOption(jsonOption())
    .action(async (options: PickerOptions) => {
      print(await measurePicker(options), undefined, options);
    });

/** Measures each contestant on each workload, one after another, each in its own process. */
async function measurePicker({ topics: sizes }: PickerOptions): Promise<Report[]> {
  const toolsFolder = resolve(import.meta.dirname, "../../.topicsync/tools");
  const ruler = await installEventRuler({ toolsFolder, report: progress });
  const found: Found[] = [];
  for (const topics of sizes) {
    for (const workload of workloads) {
      const here: Found[] = [];
      for (const way of getWays(workload, topics)) {
        progress(`${names[way]}: ${workload}, ${topics} topics`);
        const result = await measure(ruler, { workload, topics, way });
        progress(`  ${Math.round(Math.max(...result.rates))} events/s, built in ${result.buildSeconds} s`);
        here.push({ workload, topics, way, ...result });
      }
      for (const one of here) checkSameMatches(here[0] ?? one, one);
      found.push(...here);
    }
  }
  return [figures(found, ruler.name), compareWithAims(found)];
}

function getWays(workload: WorkloadName, topics: number): Way[] {
  const ways: Way[] = ["picker"];
  if (workload !== "all") ways.push("ruler");
  if (topics <= maxNaiveTopics) ways.push("naive");
  return ways;
}

interface Contest {
  readonly workload: WorkloadName;
  readonly topics: number;
  readonly way: Way;
}

async function measure(ruler: EventRuler, contest: Contest): Promise<ContestantResult> {
  const output = contest.way === "ruler" ? await runRuler(ruler, contest) : await runNode(contest);
  return JSON.parse(output) as ContestantResult;
}

function runRuler(ruler: EventRuler, { workload: name, topics, way }: Contest): Promise<string> {
  const workload = createWorkload(name);
  const { events, warmUps, rounds, passes } = plan(way);
  return ruler.run(["bench", ...[warmUps, rounds, passes].map(String)], {
    rules: workload.rules(0, topics),
    ruleCount: topics,
    further: [...workload.rules(topics, topics + furtherTopics)],
    events: workload.events(events, topics),
  });
}

async function runNode({ workload, topics, way }: Contest): Promise<string> {
  const program = join(import.meta.dirname, "contestant.ts");
  const args = [...nodeOptions, program, way, workload, String(topics)];
  const { code, stdout, stderr } = await runCommand(process.execPath, args);
  if (code !== 0) throw new Error(`${names[way]} failed:\n${lastLines(stderr, 10)}`);
  return stdout;
}

/** Throws if the contestants found different topics. */
function checkSameMatches(one: Found, other: Found): void {
  const count = Math.min(one.matches.length, other.matches.length);
  for (let at = 0; at < count; at += 1) {
    if (one.matches[at] === other.matches[at]) continue;
    throw new Error(
      `event ${at} of ${one.workload} with ${one.topics} topics: ${names[one.way]} finds ${one.matches[at]} topics, ${names[other.way]} ${other.matches[at]}`,
    );
  }
}

function figures(found: readonly Found[], rulerName: string): Report {
  const { events, rounds, passes } = plan("picker");
  return {
    title: "picker",
    head: [
      ...[
        "workload",
        "topics",
        "by",
        "events/s, best",
        "median",
        "built in, s",
        "memory, MB",
        "bytes a topic",
      ],
      ...["matches an event", "one more topic, µs: p50", "p99", "max"],
    ],
    rows: found.map(({ workload, topics, way, rates, matches, setMicroseconds, ...one }) => [
      ...[workload, topics, names[way]],
      ...[Math.max(...rates), median(rates)].map(Math.round),
      ...[one.buildSeconds.toFixed(2), (one.bytes / 1e6).toFixed(1), Math.round(one.bytes / topics)],
      (matches.reduce((sum, count) => sum + count, 0) / matches.length).toFixed(3),
      ...[quantile(setMicroseconds, 0.5), quantile(setMicroseconds, 0.99), Math.max(...setMicroseconds)].map(
        (value) => value.toFixed(1),
      ),
    ]),
    notes: [
      `${rulerName}. Events per second from the JSON text on, warm: ${rounds} rounds of ${passes * events} events (naive: of ${plan("naive").events}).`,
      `Built: the filters or rules read and added, their texts made before. Memory: in use after garbage collection (1 MB = 10^6 bytes). One more topic: ${furtherTopics} of them, one by one, after the events.`,
      "Workloads: all = with 5 % ranges, 5 % negations, 1 % empty filters; equalities = without those; unique = like it, every topic with a customer of its own.",
      "Every contestant found the same number of topics for each event.",
    ],
    data: found.map(({ matches, ...rest }) => ({
      ...rest,
      matches: matches.reduce((sum, count) => sum + count, 0),
      events: matches.length,
    })),
  };
}
