import { join } from "node:path";

import { Command } from "commander";

import { getLastLines, runCommand } from "@topicsync/embedded";
import { workloads } from "../picker/workload.ts";
import { createJsonOption, parsePositives } from "../support/options.ts";
import { printReports, reportProgress, type Report } from "../support/report.ts";
import type { AnalysisResult } from "./run.ts";

interface Options {
  readonly topics: number[];
  readonly json?: true;
}

const defaultTopics = [10_000, 100_000, 1_000_000];
/** As in the first line and the last lines of src/cli.ts. */
const nodeOptions = ["--max-semi-space-size=16", "--heap-growing-percent=100"];

export const analysisCommand = (): Command =>
  new Command("analysis")
    .description("time and memory of `topics analyze`, without reading from a store")
    .option("--topics <list>", "comma-separated numbers of topics", parsePositives, defaultTopics)
    .addOption(createJsonOption())
    .action(async (options: Options) => {
      printReports([await measureAnalysis(options.topics)], undefined, options);
    });

/** Measures each workload in its own process. */
async function measureAnalysis(sizes: readonly number[]): Promise<Report> {
  const data: (AnalysisResult & { readonly workload: string; readonly topics: number })[] = [];
  for (const topics of sizes)
    for (const workload of workloads) {
      // These topics have no contentQuery, whose spelling the planted topics change.
      if (workload === "lots") continue;
      reportProgress(`${workload}, ${topics} topics`);
      const args = [...nodeOptions, join(import.meta.dirname, "run.ts"), workload, String(topics)];
      const { code, stdout, stderr } = await runCommand(process.execPath, args);
      if (code !== 0) throw new Error(`the analysis failed:\n${getLastLines(stderr, 10)}`);
      data.push({ workload, topics, ...(JSON.parse(stdout) as AnalysisResult) });
    }
  return {
    title: "analysis",
    head: ["workload", "topics", "seconds", "CPU, s", "µs per topic", "peak, MB", "contained", "same"],
    rows: data.map(({ workload, topics, seconds, cpuSeconds, peakMb, counts }) => [
      workload,
      topics,
      seconds.toFixed(1),
      cpuSeconds.toFixed(1),
      ((1e6 * cpuSeconds) / topics).toFixed(1),
      peakMb,
      counts.contained ?? 0,
      counts.same ?? 0,
    ]),
    notes: [
      "All planted topics were found: 100 with another spelling, 100 within others, 10 contradictions.",
    ],
    data,
  };
}
