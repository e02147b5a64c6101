import { join } from "node:path";

import { Command } from "commander";

import { getLastLines, runCommand } from "@topicsync/embedded";
import { createJsonOption, parsePositives } from "../support/options.ts";
import { printReports, type Report } from "../support/report.ts";
import type { PlanBenchResult } from "./run.ts";

interface Options {
  readonly topics: number[];
  readonly json?: true;
}

const defaultTopics = [10_000, 100_000, 1_000_000];
/** As in the first line and the last lines of src/cli.ts. */
const nodeOptions = ["--max-semi-space-size=16", "--heap-growing-percent=100"];

export const planCommand = (): Command =>
  new Command("plan")
    .description("time and memory of `topics plan`, without reading from a store")
    .option("--topics <list>", "comma-separated numbers of topics", parsePositives, defaultTopics)
    .addOption(createJsonOption())
    .action(async (options: Options) => {
      printReports([await measurePlans(options.topics)], undefined, options);
    });

async function measurePlans(sizes: readonly number[]): Promise<Report> {
  const data: (PlanBenchResult & { readonly topics: number })[] = [];
  for (const topics of sizes) {
    const args = [...nodeOptions, join(import.meta.dirname, "run.ts"), String(topics)];
    const { code, stdout, stderr } = await runCommand(process.execPath, args);
    if (code !== 0) throw new Error(`the plan failed:\n${getLastLines(stderr, 10)}`);
    data.push({ topics, ...(JSON.parse(stdout) as PlanBenchResult) });
  }
  return {
    title: "plan",
    head: ["topics", "seconds", "CPU, s", "µs per topic", "peak, MB", "plan, kB"],
    rows: data.map(({ topics, seconds, cpuSeconds, peakMb, planBytes }) => [
      topics,
      seconds.toFixed(1),
      cpuSeconds.toFixed(1),
      ((1e6 * cpuSeconds) / topics).toFixed(1),
      peakMb,
      Math.round(planBytes / 1_000),
    ]),
    notes: ["An NDJSON file of which 100 definitions differ from what is stored."],
    data,
  };
}
