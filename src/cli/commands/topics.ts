import { Option, type Command } from "commander";

import type { TopicBody } from "../../../schemas/topic.ts";
import { findingKinds } from "../../topics/finding.ts";
import { runWithContext } from "../context.ts";
import { collectFile } from "../input/files.ts";
import {
  forceOption,
  parseCount,
  parseDate,
  parseUnusedFor,
  parseVersion,
  type ForceFlag,
  type JsonFlag,
} from "../input/options.ts";
import type { AnalyzeFlags } from "./topic-analyze.ts";
import { addImpactCommand } from "./topic-impact-flags.ts";
import { addVersionCommands } from "./topic-version-commands.ts";
import { addTopicChoice } from "./topic-choice.ts";
import { addDescribeOptions, type DescribeFlags } from "./topic-describe-flags.ts";
import type { EgressFlags } from "./topic-egress.ts";
import type { ExportFlags } from "./topic-export.ts";
import type { ImportFlags } from "./topic-import.ts";
import type { ShowFlags } from "./topic-changes.ts";
import type { ListFlags } from "./topic-list.ts";
import { definePlanCommands } from "./topic-plans.ts";
import type { UsageFlags } from "./topic-usage.ts";

/** Defines `topicsync topics …`. The code of each command is loaded when it runs. */
export function defineTopics(topics: Command): void {
  addListCommand(topics);
  addShowCommand(topics);
  addUsageCommand(topics);
  addAddCommand(topics);
  addSwitchCommands(topics);
  addVersionCommands(topics);
  addDescribeCommand(topics);
  addExportCommand(topics);
  addImportCommand(topics);
  addEgressCommand(topics);
  addAnalyzeCommand(topics);
  definePlanCommands(topics);
  addImpactCommand(topics);
}

function addListCommand(topics: Command): void {
  addTopicChoice(topics.command("list"))
    .description(
      "list topics, sorted by external id, or by date if retired or disabled; a table shows the first 100",
    )
    .addOption(new Option("--limit <count>", "show at most this many").argParser(parseCount).conflicts("all"))
    .option("--all", "show all topics")
    .option("--uses-path <path>", "only topics with a condition on this path of events, or on one below it")
    .option("--uses-value <value>", "with --uses-path: only those whose condition names this value")
    .option("--json", "print all of them, one line of JSON each (NDJSON)")
    .action(async (flags: ListFlags, command: Command) => {
      if (flags.usesValue !== undefined && flags.usesPath === undefined)
        command.error("error: --uses-value needs --uses-path");
      const { listTopics } = await import("./topic-list.ts");
      await runWithContext((context) => listTopics(context, flags));
    });
}

function addShowCommand(topics: Command): void {
  topics
    .command("show")
    .description("show all details of a topic, active or not, with its filters in words")
    .argument("<external-id>", "its external id")
    .addOption(new Option("--version <version>", "show this version").argParser(parseCount).conflicts("at"))
    .option("--at <time>", "show it as it was at this time (2026-11-21T07:18:04Z)", parseDate)
    .option("--json", "print JSON")
    .action(async (externalId: string, flags: ShowFlags) => {
      const { showTopic } = await import("./topic-changes.ts");
      await runWithContext((context) => showTopic(context, externalId, flags));
    });
}

function addUsageCommand(topics: Command): void {
  topics
    .command("usage")
    .description("show how many events topics had, as the router counted them; all active topics by default")
    .argument("[external-id...]", "only topics with these external ids")
    .addOption(
      new Option(
        "--unused-for <duration>",
        "only topics that existed for this time, such as 30d, without an event in it",
      ).argParser(parseUnusedFor),
    )
    .option("--json", "print one line of JSON per topic (NDJSON)")
    .action(async (externalIds: string[], flags: UsageFlags) => {
      const { showUsage } = await import("./topic-usage.ts");
      await runWithContext((context) => showUsage(context, externalIds, flags));
    });
}

function addAddCommand(topics: Command): void {
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
      const { addTopic } = await import("./topic-changes.ts");
      await runWithContext((context) => addTopic(context, body, { json }));
    });
}

function addSwitchCommands(topics: Command): void {
  for (const [command, description, argument] of [
    [
      "disable",
      "disable a topic: it matches no events, and its external id and combination can be reused",
      "its external id; topics that were announced cannot be disabled",
    ],
    ["enable", "enable a disabled topic", "its external id"],
  ] as const) {
    const added = topics
      .command(command)
      .description(description)
      .argument("<external-id>", argument)
      .option("--json", "print the topic as JSON")
      .action(async (externalId: string, flags: ForceFlag) => {
        const { switchTopic } = await import("./topic-changes.ts");
        await runWithContext((context) => switchTopic(context, command, externalId, flags));
      });
    if (command === "disable") added.option(...forceOption);
  }
}

function addDescribeCommand(topics: Command): void {
  addDescribeOptions(topics.command("describe"))
    .description(
      "say who is responsible for a topic, what it is for and so on; what no option names stays, and an empty value removes it",
    )
    .argument("<external-id>", "its external id")
    .addOption(
      new Option(
        "--if-version <version>",
        "only if its details have this version; 0 if it was never described",
      ).argParser(parseVersion),
    )
    .option(...forceOption)
    .option("--json", "print the topic as JSON")
    .action(async (externalId: string, { json, force, ...flags }: DescribeFlags, command: Command) => {
      if (Object.keys(flags).length === 0) command.error("error: say what to change; see --help");
      const { describeTopic } = await import("./topic-describe.ts");
      await runWithContext((context) => describeTopic(context, externalId, { ...flags, json, force }));
    });
}

function addExportCommand(topics: Command): void {
  addTopicChoice(topics.command("export"))
    .description(
      "write definitions as NDJSON, which `topics import` and `announce` read, or definitions with details as YAML files, which `topics plan` reads",
    )
    .addOption(new Option("--format <format>", "the format").choices(["ndjson", "yaml"]).default("ndjson"))
    .option("--at <time>", "active topics as they were at this time (2026-11-21T07:18:04Z)", parseDate)
    .option(
      "-o, --out <file>",
      "write to this file, which appears only when it is complete; with --format yaml, to this new or empty folder",
    )
    .option("--json", "with --out: print the result as JSON")
    .action(async (flags: ExportFlags, command: Command) => {
      if (flags.at !== undefined && flags.state !== undefined && flags.state !== "active")
        command.error("error: --at cannot be combined with --state");
      const other =
        flags.at && (["owner", "tag", "label", "lifecycle", "search"] as const).find((name) => flags[name]);
      if (other !== undefined) command.error(`error: --at cannot be combined with --${other}`);
      if (flags.out === undefined && flags.format === "yaml")
        command.error("error: --format yaml needs --out");
      await runWithContext(async (context) => {
        if (flags.format === "yaml")
          await (await import("./topic-export-yaml.ts")).exportYaml(context, flags);
        else await (await import("./topic-export.ts")).exportTopics(context, flags);
      });
    });
}

function addImportCommand(topics: Command): void {
  topics
    .command("import")
    .description(
      "create topics from definitions (NDJSON, a JSON array or a JSON object); nothing is stored if one is invalid, and existing topics are not changed",
    )
    .argument("<file...>", 'files with definitions; "-" is standard input', collectFile)
    .option("--dry-run", "print what would be done, without storing anything")
    .option("--json", "print the result as JSON")
    .action(async (files: string[], flags: ImportFlags) => {
      const { importTopics } = await import("./topic-import.ts");
      await importTopics(files, flags);
    });
}

function addEgressCommand(topics: Command): void {
  topics
    .command("egress")
    .description(
      "compare the stored topics with the Kafka topics that events are forwarded to: lists missing ones, and those without a stored topic",
    )
    .option("--create", "create the missing Kafka topics")
    .option("--json", "print one line of JSON per Kafka topic (NDJSON) instead of a table")
    .action(async (flags: EgressFlags) => {
      const { compareEgressTopics } = await import("./topic-egress.ts");
      await runWithContext((context) => compareEgressTopics(context, flags));
    });
}

function addAnalyzeCommand(topics: Command): void {
  topics
    .command("analyze")
    .description(
      "find topics that have the same events (same), whose events are all events of other topics (contained), that have no conditions (everything), that no event can match (impossible), or only an event with lists (list-only)",
    )
    .argument(
      "[external-id]",
      "list at most 20 topics for each way in which the events of this one relate to theirs",
    )
    .addOption(new Option("--kind <kind...>", "only findings of these kinds").choices(findingKinds))
    .addOption(
      new Option("--fail-on <kind...>", "exit with 3 if there are findings of these kinds").choices(
        findingKinds,
      ),
    )
    .option("--json", "print one line of JSON per finding (NDJSON) instead of a table")
    .action(async (externalId: string | undefined, flags: AnalyzeFlags) => {
      const { analyze } = await import("./topic-analyze.ts");
      await runWithContext((context) => analyze(context, externalId, flags));
    });
}
