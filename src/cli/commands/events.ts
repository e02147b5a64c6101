import { Option, type Command } from "commander";

import { runWithContext } from "../context.ts";
import { collectFile } from "../input/files.ts";
import { parseCount, type JsonFlag } from "../input/options.ts";
import type { LearnFlags } from "./event-learning.ts";

/** Defines `topicsync events …`. The code of each command is loaded when it runs. */
export function defineEvents(events: Command): void {
  events
    .command("types")
    .description("list the event types that the router has seen, the most frequent first")
    .option("--json", "print JSON instead of a table")
    .action(async (flags: JsonFlag) => {
      const { listEventTypes } = await import("./event-types.ts");
      await runWithContext((context) => listEventTypes(context, flags));
    });
  events
    .command("show")
    .description("show the paths of an event type, with their share of its events and their kinds")
    .argument("<type>", "the event type; - for events without one")
    .option("--json", "print JSON instead of a table")
    .action(async (type: string, flags: JsonFlag) => {
      const { showEventType } = await import("./event-types.ts");
      await runWithContext((context) => showEventType(context, type, flags));
    });
  events
    .command("learn")
    .description(
      "learn what events look like, from files with one event per line (NDJSON) or from the events topic",
    )
    .argument("[file...]", 'files with events; "-" is standard input', collectFile)
    .addOption(
      new Option("--last <count>", "read the last records of KAFKA_EVENTS_TOPIC, about this many").argParser(
        parseCount,
      ),
    )
    .option("--json", "print the result as JSON")
    .action(async (files: string[], flags: LearnFlags, command: Command) => {
      if ((files.length === 0) === (flags.last === undefined))
        command.error("error: give either files or --last");
      const { learnEvents } = await import("./event-learning.ts");
      await runWithContext((context) => learnEvents(context, files, flags));
    });
  events
    .command("forget")
    .description("delete what was learned about an event type; it is learned again when it occurs")
    .argument("<type>", "the event type; - for events without one")
    .option("--json", "print JSON")
    .action(async (type: string, flags: JsonFlag) => {
      const { forgetEventType } = await import("./event-types.ts");
      await runWithContext((context) => forgetEventType(context, type, flags));
    });
}
