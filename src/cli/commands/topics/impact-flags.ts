import { InvalidArgumentError, Option, type Command } from "commander";

import { collectFile } from "../../input/files.ts";
import { serverOption } from "../../input/server.ts";
import { parseCount, parseRanges, parseTime } from "../../input/options.ts";
import type { ImpactFlags } from "./impact.ts";

/** Defines `topicsync topics impact`. */
export function addImpactCommand(topics: Command): void {
  topics
    .command("impact")
    .description(
      "show what changes of filters would do: which events would match newly and no longer, by reading the events topic with the old and the new filters",
    )
    .argument(
      "[file...]",
      'files with definitions as they would be, compared with the stored topics; "-" is standard input',
      collectFile,
    )
    .option("--topic <external-id>", "change the filters of this topic, or create it")
    .option("--header-query <filter>", "with --topic: its new headerQuery; by default the stored one")
    .option("--content-query <filter>", "with --topic: its new contentQuery; by default the stored one")
    .option("--all", "count the events of every stored topic instead, without changes")
    .addOption(
      new Option("--last <count>", "read the last records, this many; 100000 by default").argParser(
        parseCount,
      ),
    )
    .option("--from <time>", "read the records from this time on, as in 2026-11-25T09:30:00Z", parseTime)
    .option("--to <time>", "read the records before this time", parseTime)
    .option(
      "--offsets <ranges>",
      "read these offsets, PARTITION:FROM-TO separated by commas, up to but not including TO; a result names them, so that it can be repeated",
      parseRanges,
    )
    .option("--events <file>", 'read events from a file with one per line (NDJSON); "-" is standard input')
    .option("--kafka-topic <name>", "read this Kafka topic instead of KAFKA_EVENTS_TOPIC")
    .option("--examples <count>", "at most this many examples for newly and for no longer", parseExamples, 3)
    .option("--json", "print JSON; with --all, one line per topic (NDJSON)")
    .option(...serverOption)
    .action(async (files: string[], flags: ImpactFlags, command: Command) => {
      const fault = findImpactFault(files, flags);
      if (fault !== undefined) command.error(`error: ${fault}`);
      const { runImpact } = await import("./impact.ts");
      await runImpact(files, flags);
    });
}

const maxExamples = 100;

function parseExamples(given: string): number {
  const count = /^\d{1,3}$/.test(given) ? Number(given) : NaN;
  if (count <= maxExamples) return count;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${maxExamples}.`);
}

/** What is wrong with a combination of options. */
function findImpactFault(files: readonly string[], flags: ImpactFlags): string | undefined {
  const { topic, headerQuery, contentQuery, all, last, from, to, offsets, events, kafkaTopic } = flags;
  const isGiven = (value: unknown): boolean => value !== undefined;
  const hasFilters = isGiven(headerQuery) || isGiven(contentQuery);
  if ([files.length > 0, isGiven(topic), all === true].filter(Boolean).length !== 1)
    return "give either files, --topic or --all";
  if (isGiven(topic) !== hasFilters)
    return "--topic needs --header-query or --content-query, and they need it";
  const chosen = [isGiven(last), isGiven(from) || isGiven(to), isGiven(offsets), isGiven(events)];
  if (chosen.filter(Boolean).length > 1)
    return "choose one of --last, --from and --to, --offsets, and --events";
  if (isGiven(events) && isGiven(kafkaTopic)) return "--events cannot be combined with --kafka-topic";
  if (events === "-" && files.includes("-")) return "standard input can be read only once";
  return undefined;
}
