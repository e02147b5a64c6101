import type { Command } from "commander";

import { runWithContext } from "../context.ts";
import { forceOption, parseCount, type ForceFlag } from "../input/options.ts";
import type { ChangeFlags, DiffFlags, HistoryFlags, RestoreFlags } from "./topic-versions.ts";

/** Defines the commands of `topicsync topics` that change definitions and show their versions. */
export function addVersionCommands(topics: Command): void {
  topics
    .command("change")
    .description(
      "change the definition of a topic that was created over HTTP or on the command line; what no option names stays as it is",
    )
    .argument("<external-id>", "its external id; topics that were announced cannot be changed")
    .option(
      "--if-version <version>",
      "the version that was read, as `topics show` prints it; required",
      parseCount,
    )
    .option("--name <name>", "its new name")
    .option("--namespace <namespace>", "its new namespace; '' for none")
    .option("--header-query <filter>", "its new filter on the members of the event")
    .option("--content-query <filter>", "its new filter inside the event's `event` object")
    .option("--rename-to <external-id>", "its new external id")
    .option(...forceOption)
    .option("--json", "print the topic as JSON")
    .action(async (externalId: string, flags: ChangeFlags & ForceFlag, command: Command) => {
      const { changeDefinition, isEmptyChange } = await import("./topic-versions.ts");
      if (isEmptyChange(flags)) command.error("error: nothing to change; --help lists the options");
      await runWithContext((context) => changeDefinition(context, externalId, flags));
    });

  topics
    .command("history")
    .description(
      "list the versions of a topic and of its details, the latest first, with what stored and ended each",
    )
    .argument("<external-id>", "its external id, also of a topic that no longer exists")
    .option("--limit <count>", "show at most this many; 100 by default", parseCount)
    .option("--json", "print all of them, one line of JSON each (NDJSON)")
    .action(async (externalId: string, flags: HistoryFlags) => {
      const { showHistory } = await import("./topic-versions.ts");
      await runWithContext((context) => showHistory(context, externalId, flags));
    });

  topics
    .command("diff")
    .description("compare two versions of a topic, and the events that belong to them")
    .argument("<external-id>", "its external id")
    .option("--from <version>", "the older version; by default the one before the other", parseCount)
    .option("--to <version>", "the newer version; by default the last one", parseCount)
    .option("--json", "print JSON")
    .action(async (externalId: string, flags: DiffFlags) => {
      const { diffVersions } = await import("./topic-versions.ts");
      await runWithContext((context) => diffVersions(context, externalId, flags));
    });

  topics
    .command("restore")
    .description(
      "store the definition of an earlier version again, as a new version; a disabled topic becomes active",
    )
    .argument("<external-id>", "its external id; topics that were announced cannot be restored")
    .requiredOption("--version <version>", "the version to restore, as `topics history` lists it", parseCount)
    .option("--if-version <version>", "only if the topic still has this version", parseCount)
    .option(...forceOption)
    .option("--json", "print the topic as JSON")
    .action(async (externalId: string, flags: RestoreFlags & ForceFlag) => {
      const { restoreVersion } = await import("./topic-versions.ts");
      await runWithContext((context) => restoreVersion(context, externalId, flags));
    });
}
