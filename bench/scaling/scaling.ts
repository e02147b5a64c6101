import { Command, Option } from "commander";

import { commonOptions, positive, positives, type CommonOptions } from "../support/options.ts";
import { print, type Report } from "../support/report.ts";
import { measureInstallations } from "./installations.ts";
import { measureInstances } from "./instances.ts";
import { measureTopics } from "./topics.ts";
import { startStack } from "../support/stack.ts";

const whats = ["instances", "topics", "installations"] as const;

interface ScalingOptions extends CommonOptions {
  readonly only?: (typeof whats)[number];
  readonly instances: readonly number[];
  readonly announcements: number;
  readonly rounds: number;
  readonly topics: readonly number[];
  readonly stretch: number;
  readonly installations: readonly number[];
  readonly seconds: number;
}

/** `bench scaling`: what more instances, more topics and more installations do to the rates and to memory. */
export const scalingCommand = (): Command => {
  const command = new Command("scaling").description(
    "the sync with several instances, and the rates and memory with more topics and installations stored",
  );
  command
    .addOption(new Option("--only <what>", "one of them instead of all").choices(whats))
    .option("--instances <n,n…>", "how many share four partitions", positives, [1, 2, 3])
    .option("--announcements <n>", "announcements that they share", positive, 400_000)
    .option("--rounds <n>", "measurements of each number of instances", positive, 3)
    .option("--topics <n,n…>", "sizes that the topics grow past", positives, [10_000, 100_000, 1_000_000])
    .option("--stretch <n>", "announcements that are measured past each size", positive, 50_000)
    .option(
      "--installations <n,n…>",
      "how many are stored",
      positives,
      [10_000, 100_000, 1_000_000, 10_000_000],
    )
    .option("--seconds <n>", "for how long registrations are measured at each size", positive, 20);
  for (const option of commonOptions()) command.addOption(option);
  return command.action(async (options: ScalingOptions) => {
    const measures = {
      instances: measureInstances,
      topics: measureTopics,
      installations: measureInstallations,
    };
    const chosen = options.only === undefined ? whats : [options.only];
    // In mongo-java-server an installation takes some 1.6 kB; a machine of 24 GiB has just room for ten
    // million.
    const gigabytes = chosen.includes("installations")
      ? 3 + Math.ceil(Math.max(...options.installations) / 600_000)
      : 4;
    await using stack = await startStack(options.store, { forLatency: true, gigabytes });
    const reports: Report[] = [];
    for (const what of chosen) reports.push(await measures[what](stack, options));
    print(reports, stack.broker.description, options);
  });
};
