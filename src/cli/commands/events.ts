import type { Command } from "commander";

import { runWithContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";

/** Defines `topicsync events …`. The code of each command is loaded when it runs. */
export function defineEvents(events: Command): void {
  events
    .command("types")
    .description("list the types of the last events, the most frequent first")
    .option("--json", "print JSON instead of a table")
    .action(async (flags: JsonFlag) => {
      const { listEventTypes } = await import("./event-types.ts");
      await runWithContext((context) => listEventTypes(context, flags));
    });
  events
    .command("show")
    .description(
      "show the paths of an event type, with their share of its last events, their kinds and values",
    )
    .argument("<type>", "the event type; - for events without one")
    .option("--json", "print JSON instead of a table")
    .action(async (type: string, flags: JsonFlag) => {
      const { showEventType } = await import("./event-types.ts");
      await runWithContext((context) => showEventType(context, type, flags));
    });
}
