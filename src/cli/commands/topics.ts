import { Option, type Command } from "commander";

import type { TopicBody } from "../../../schemas/topic.ts";
import { runCommand } from "../context.ts";
import { collectFile } from "../input/files.ts";
import { parseCount, type JsonFlag } from "../input/options.ts";
import { withTopicChoice } from "./topic-choice.ts";
import type { ExportFlags } from "./topic-export.ts";
import type { ImportFlags } from "./topic-import.ts";
import type { ListFlags } from "./topic-list.ts";

/**
 * Adds `topicsync topics …`: the stored topics, and making, switching and copying them. What only these commands need is
 * loaded when they run.
 */
export function addTopicsCommand(program: Command): void {
  const topics = program.command("topics").description("manage the stored topics");

  withTopicChoice(topics.command("list"))
    .description("list topics by external id; a table shows the first 100")
    .addOption(
      new Option("--disabled", "those that were disabled and not enabled since, instead").conflicts([
        "externalId",
        "name",
        "namespace",
        "source",
      ]),
    )
    .addOption(new Option("--limit <count>", "show so many at most").argParser(parseCount).conflicts("all"))
    .option("--all", "show all there are")
    .option("--json", "print a line of JSON for each (NDJSON) instead of a table; all there are")
    .action(async (flags: ListFlags) => {
      const { listTopicsCommand: list } = await import("./topic-list.ts");
      await runCommand((connection) => list(connection, flags));
    });

  topics
    .command("show")
    .description("show everything about a topic, its filters in words; a retired one as well")
    .argument("<external-id>", "its external id")
    .option("--json", "print JSON")
    .action(async (externalId: string, flags: JsonFlag) => {
      const { showTopic: show } = await import("./topic-changes.ts");
      await runCommand((connection) => show(connection, externalId, flags));
    });

  topics
    .command("add")
    .description("create a topic, under the same rules as over HTTP")
    .requiredOption("--name <name>", "its name")
    .requiredOption("--external-id <id>", "its unique external id")
    .option("--namespace <namespace>", "its namespace")
    .option("--header-query <filter>", "filter on the members of the event; empty matches every event")
    .option("--content-query <filter>", "filter inside the event's `event` object; empty matches every event")
    .option("--json", "print the topic as JSON")
    .action(async ({ json, ...body }: TopicBody & JsonFlag) => {
      const { addTopic: add } = await import("./topic-changes.ts");
      await runCommand((connection) => add(connection, body, { json }));
    });

  topics
    .command("disable")
    .description("take a topic out of use: no event belongs to it, and its unique values are free")
    .argument("<external-id>", "its external id; one that was announced belongs to the channel")
    .option("--json", "print the topic as JSON")
    .action(async (externalId: string, flags: JsonFlag) => {
      const { disableTopic: disable } = await import("./topic-changes.ts");
      await runCommand((connection) => disable(connection, externalId, flags));
    });

  topics
    .command("enable")
    .description("bring a disabled topic back")
    .argument("<external-id>", "its external id")
    .option("--json", "print the topic as JSON")
    .action(async (externalId: string, flags: JsonFlag) => {
      const { enableTopic: enable } = await import("./topic-changes.ts");
      await runCommand((connection) => enable(connection, externalId, flags));
    });

  withTopicChoice(topics.command("export"))
    .description("write definitions, one on each line (NDJSON), as `topics import` and `announce` take them")
    .option("-o, --out <file>", "into this file; it is there only once it is whole")
    .option("--json", "with --out: print what came of it as JSON")
    .action(async (flags: ExportFlags) => {
      const { exportTopics } = await import("./topic-export.ts");
      await runCommand((connection) => exportTopics(connection, flags));
    });

  topics
    .command("import")
    .description(
      "create topics from definitions: NDJSON, a JSON array or a JSON object; nothing is stored when one of them is faulty, and what is there already is left as it is",
    )
    .argument("<file...>", 'files with definitions; "-" is standard input', collectFile)
    .option("--dry-run", "say what would come of it, and store nothing")
    .option("--json", "print what came of it as JSON")
    .action(async (files: string[], flags: ImportFlags) => {
      const { importTopics } = await import("./topic-import.ts");
      await importTopics(files, flags);
    });
}
