import { Command, Option } from "commander";

import {
  createCommonOptions,
  parsePositive,
  parsePositives,
  type CommonOptions,
} from "../support/options.ts";
import { printReports, type Report } from "../support/report.ts";
import { measureInstallations } from "./installations.ts";
import { measureInstances } from "./instances.ts";
import { measureTopics } from "./topics.ts";
import { startStack } from "../support/stack.ts";

const parts = ["instances", "topics", "installations"] as const;

interface ScalingOptions extends CommonOptions {
  readonly only?: (typeof parts)[number];
  readonly instances: readonly number[];
  readonly announcements: number;
  readonly rounds: number;
  readonly topics: readonly number[];
  readonly stretch: number;
  readonly installations: readonly number[];
  readonly seconds: number;
}

export const scalingCommand = (): Command => {
  const command = new Command("scaling").description(
    "rates and memory with more instances, topics and installations",
  );
  command
    .addOption(new Option("--only <part>", "one part instead of all").choices(parts))
    .option(
      "--instances <n,n…>",
      "numbers of instances that share four partitions",
      parsePositives,
      [1, 2, 3],
    )
    .option("--announcements <n>", "announcements of each measurement with instances", parsePositive, 400_000)
    .option(
      "--rounds <n>",
      "measurements of each number of instances; the median is reported",
      parsePositive,
      3,
    )
    .option(
      "--topics <n,n…>",
      "numbers of topics to measure at",
      parsePositives,
      [10_000, 100_000, 1_000_000],
    )
    .option("--stretch <n>", "announcements measured at each number of topics", parsePositive, 50_000)
    .option(
      "--installations <n,n…>",
      "numbers of stored installations",
      parsePositives,
      [10_000, 100_000, 1_000_000, 10_000_000],
    )
    .option("--seconds <n>", "duration of each measurement of registrations in seconds", parsePositive, 20);
  for (const option of createCommonOptions()) command.addOption(option);
  return command.action(async (options: ScalingOptions) => {
    const measures = {
      instances: measureInstances,
      topics: measureTopics,
      installations: measureInstallations,
    };
    const chosen = options.only === undefined ? parts : [options.only];
    // An installation takes about 1.6 kB in mongo-java-server; ten million just fit into 24 GiB.
    const gigabytes = chosen.includes("installations")
      ? 3 + Math.ceil(Math.max(...options.installations) / 600_000)
      : 4;
    await using stack = await startStack(options.store, { forLatency: true, gigabytes });
    const reports: Report[] = [];
    for (const what of chosen) reports.push(await measures[what](stack, options));
    printReports(reports, stack.broker.description, options);
  });
};
