import { join, resolve } from "node:path";

import { Command } from "commander";

import { getLastLines, runCommand } from "@topicsync/embedded";
import { installEventRuler, type EventRuler } from "./event-ruler.ts";
import { createJsonOption, parsePositives } from "../support/options.ts";
import { compareWithTargets, reportFigures } from "./report.ts";
import {
  contestantNames,
  furtherTopics,
  getPlan,
  type ContestantResult,
  type Found,
  type Way,
} from "./plan.ts";
import { createWorkload, hasPatterns, workloads, type WorkloadName } from "./workload.ts";
import { printReports, reportProgress, type Report } from "../support/report.ts";

interface PickerOptions {
  readonly topics: number[];
  readonly json?: true;
}

const defaultTopics = [10_000, 100_000, 1_000_000];
/** Event Ruler needs too long to build more of these. */
const maxRulerPatterns = 6_000;
const patternSizes = [maxRulerPatterns, 100_000];
/** With more topics, the naive contestant takes too long. */
const maxNaiveTopics = 10_000;
const nodeOptions = ["--expose-gc", "--max-old-space-size=8192"];

export const pickerCommand = (): Command =>
  new Command("picker")
    .description(
      "events per second, build time and memory of the topic picker, compared with Event Ruler and a loop",
    )
    .option("--topics <list>", "comma-separated numbers of topics", parsePositives, defaultTopics)
    .addOption(createJsonOption())
    .action(async (options: PickerOptions) => {
      printReports(await measurePicker(options), undefined, options);
    });

/** Measures each contestant on each workload in its own process. */
async function measurePicker({ topics: sizes }: PickerOptions): Promise<Report[]> {
  const toolsFolder = resolve(import.meta.dirname, "../../.topicsync/tools");
  const ruler = await installEventRuler({ toolsFolder, report: reportProgress });
  const found: Found[] = [];
  for (const workload of workloads) {
    for (const topics of hasPatterns(workload) ? patternSizes : sizes) {
      const here: Found[] = [];
      for (const way of getWays(workload, topics)) {
        reportProgress(`${contestantNames[way]}: ${workload}, ${topics} topics`);
        const result = await measure(ruler, { workload, topics, way });
        reportProgress(
          `  ${Math.round(Math.max(...result.rates))} events/s, built in ${result.buildSeconds} s`,
        );
        here.push({ workload, topics, way, ...result });
      }
      for (const one of here) checkSameMatches(here[0] ?? one, one);
      found.push(...here);
    }
  }
  return [reportFigures(found, ruler.name), compareWithTargets(found)];
}

/** Events per CPU time as a multiple of the loop's, with 10,000 topics, of each round. */
export const measurePickerOverLoop = async (): Promise<readonly number[]> =>
  JSON.parse(await runNode({ workload: "all", topics: maxNaiveTopics, way: "turns" })) as number[];

/** Events per second and memory of the picker as a multiple of Event Ruler's. */
export async function comparePickerWithRuler(
  ruler: EventRuler,
  contest: Omit<Contest, "way">,
): Promise<{ readonly rate: number; readonly memory: number }> {
  const picker = await measure(ruler, { ...contest, way: "picker" });
  const beside = await measure(ruler, { ...contest, way: "ruler" });
  const rate = Math.max(...picker.rates) / Math.max(...beside.rates);
  return { rate, memory: picker.bytes / beside.bytes };
}

function getWays(workload: WorkloadName, topics: number): Way[] {
  const ways: Way[] = ["picker"];
  if (workload !== "all" && (!hasPatterns(workload) || topics <= maxRulerPatterns)) ways.push("ruler");
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
  const { events, warmUps, rounds, passes } = getPlan(way);
  return ruler.run(["bench", String(warmUps), String(rounds), String(passes)], {
    rules: workload.rules(0, topics),
    ruleCount: topics,
    further: [...workload.rules(topics, topics + furtherTopics)],
    events: workload.events(events, topics),
  });
}

async function runNode({
  workload,
  topics,
  way,
}: Omit<Contest, "way"> & { readonly way: Way | "turns" }): Promise<string> {
  const program = join(import.meta.dirname, "contestant.ts");
  const args = [...nodeOptions, program, way, workload, String(topics)];
  const { code, stdout, stderr } = await runCommand(process.execPath, args);
  if (code !== 0) throw new Error(`${way} failed:\n${getLastLines(stderr, 10)}`);
  return stdout;
}

/** Throws if the contestants found different topics. */
function checkSameMatches(one: Found, other: Found): void {
  const count = Math.min(one.matches.length, other.matches.length);
  for (let at = 0; at < count; at += 1) {
    if (one.matches[at] === other.matches[at]) continue;
    throw new Error(
      `event ${at} of ${one.workload} with ${one.topics} topics: ${contestantNames[one.way]} finds ${one.matches[at]} topics, ${contestantNames[other.way]} ${other.matches[at]}`,
    );
  }
}
