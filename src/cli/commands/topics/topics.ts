import { Option, type Command } from "commander";

import { lifecycles } from "../../../../schemas/topics/details.ts";
import type { TopicUsageView } from "../../../../schemas/topics/usage.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import type { TopicResponse } from "../../../../schemas/topics/topic.ts";
import { createTopic, disableTopic, enableTopic } from "../../../operations/topics.ts";
import { getTopicUsage } from "../../../operations/topic-usage.ts";
import { getTopic, restoreVersion } from "../../../operations/topic-versions.ts";
import { findingKinds } from "../../../topics/finding.ts";
import { serverOption } from "../../input/server.ts";
import { runWithClient } from "../../client/client.ts";
import { addOperation } from "../../client/command.ts";
import { runWithContext } from "../../context.ts";
import { collectFile } from "../../input/files.ts";
import { addMistaken, deletions } from "../../input/mistaken.ts";
import { forceOption, parseCount, parseDate, parseWhole } from "../../input/options.ts";
import { formatTopic } from "../../output/topic-view.ts";
import type { AnalyzeFlags } from "./analyze.ts";
import { addBackfillCommand } from "./backfill.ts";
import { addImpactCommand } from "./impact-flags.ts";
import { addTopicChoice } from "./choice.ts";
import type { DescribeFlags } from "./describe.ts";
import type { EgressFlags } from "./egress.ts";
import type { ExportFlags } from "./export.ts";
import type { ImportFlags } from "./import.ts";
import type { ListFlags } from "./list.ts";
import { definePlanCommands } from "./plans.ts";
import type { ChangeFlags, DiffFlags, HistoryFlags } from "./versions.ts";

/** Defines `topicsync topics …`. The code of most commands is loaded when they run. */
export function defineTopics(topics: Command): void {
  addListCommand(topics);
  addOperation<TopicDetail>(topics, {
    name: "show",
    operation: getTopic,
    description: "show all details of a topic, active or not, with its filters in words",
    format: (topic) => formatTopic(topic).trimEnd().split("\n"),
  });
  addOperation<TopicUsageView>(topics, {
    name: "usage",
    operation: getTopicUsage,
    description: "show how many events a topic had, as the router counted them",
    format: ({ events, lastEventOn, counted }) => [
      `events      ${events}`,
      `last event  ${lastEventOn ?? "none counted"}`,
      `counted     ${counted === null ? "not yet: a router stores counts within ten minutes" : `from ${counted.since} until ${counted.until}`}`,
    ],
  });
  addOperation<TopicResponse>(topics, {
    name: "add",
    operation: createTopic,
    format: ({ externalId, name }) => `added ${externalId} (${name})`,
  });
  for (const [name, operation] of [
    ["disable", disableTopic],
    ["enable", enableTopic],
  ] as const)
    addOperation<TopicDetail>(topics, {
      ...{ name, operation },
      format: (topic) => `${name}d ${topic.externalId} (${topic.name})`,
    });
  addChangeCommand(topics);
  addHistoryCommands(topics);
  addOperation<TopicDetail>(topics, {
    name: "restore",
    operation: restoreVersion,
    description:
      "store the definition of an earlier version again, as a new version; a disabled topic becomes active",
    format: ({ externalId, name, version }) => `restored ${externalId} (${name}), version ${version}`,
  });
  addDescribeCommand(topics);
  addExportCommand(topics);
  addImportCommand(topics);
  addEgressCommand(topics);
  addAnalyzeCommand(topics);
  definePlanCommands(topics);
  addImpactCommand(topics);
  addBackfillCommand(topics);
  addMistaken(topics, deletions, "topics are disabled instead: topicsync topics disable EXTERNAL-ID");
  for (const [heading, names] of Object.entries(groups))
    for (const command of topics.commands) if (names.includes(command.name())) command.helpGroup(heading);
}

/** The sections of `topics --help`. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "Look at topics:": ["list", "show", "history", "diff", "usage"],
  "Change topics:": ["add", "change", "describe", "disable", "enable", "restore"],
  "Compare filters:": ["analyze", "impact"],
  "Topics from a repository:": ["plan", "apply", "sets", "adopt", "release"],
  "Files, and Kafka topics:": ["export", "import", "egress", "backfill"],
};

function addListCommand(topics: Command): void {
  addTopicChoice(topics.command("list"))
    .argument("[words...]", "the same as --search")
    .description(
      "list topics, sorted by external id, or by date if retired or disabled; a table shows the first 100",
    )
    .addOption(new Option("--limit <count>", "show at most this many").argParser(parseCount).conflicts("all"))
    .option("--all", "show all topics")
    .option("--uses-path <path>", "only topics with a condition on this path of events, or on one below it")
    .option("--uses-value <value>", "with --uses-path: only those whose condition names this value")
    .option("--json", "print all of them, one line of JSON each (NDJSON)")
    .option(...serverOption)
    .action(async (words: string[], flags: ListFlags, command: Command) => {
      const searched = words.length > 0;
      if (searched && [flags.search, flags.name, flags.externalId].some((one) => one !== undefined))
        command.error("error: words cannot be combined with --search, --name and --external-id");
      if (flags.usesValue !== undefined && flags.usesPath === undefined)
        command.error("error: --uses-value needs --uses-path");
      const { printTopics } = await import("./list.ts");
      await printTopics(searched ? { ...flags, search: words.join(" ") } : flags);
    });
}

function addChangeCommand(topics: Command): void {
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
    .option(...serverOption)
    .action(async (externalId: string, flags: ChangeFlags, command: Command) => {
      if (hasOnly(flags, ["ifVersion", "force", "json", "server"]))
        command.error("error: nothing to change; --help lists the options");
      const { changeDefinition } = await import("./versions.ts");
      await changeDefinition(externalId, flags);
    });
}

function addHistoryCommands(topics: Command): void {
  topics
    .command("history")
    .description(
      "list the versions of a topic and of its details, the latest first, with what stored and ended each",
    )
    .argument("<external-id>", "its external id, also of a topic that no longer exists")
    .option("--limit <count>", "show at most this many; 100 by default", parseCount)
    .option("--json", "print all of them, one line of JSON each (NDJSON)")
    .option(...serverOption)
    .action(async (externalId: string, flags: HistoryFlags) => {
      const { showHistory } = await import("./versions.ts");
      await showHistory(externalId, flags);
    });

  topics
    .command("diff")
    .description("compare two versions of a topic, and the events that belong to them")
    .argument("<external-id>", "its external id")
    .option("--from <version>", "the older version; by default the one before the other", parseCount)
    .option("--to <version>", "the newer version; by default the last one", parseCount)
    .option("--json", "print JSON")
    .option(...serverOption)
    .action(async (externalId: string, flags: DiffFlags) => {
      const { diffVersions } = await import("./versions.ts");
      await diffVersions(externalId, flags);
    });
}

function addDescribeCommand(topics: Command): void {
  topics
    .command("describe")
    .description(
      "say who is responsible for a topic, what it is for and so on; what no option names stays, and an empty value removes it",
    )
    .argument("<external-id>", "its external id")
    .option("--owner <owner>", "the team or user that is responsible for it")
    .option("--description <text>", "what it is for")
    .option("--contact <contact>", "how to reach the owner")
    .option("--tag <tag...>", "all its tags, in lower case")
    .option("--label <name=value...>", "all its labels")
    .addOption(new Option("--lifecycle <lifecycle>", "whether it is to be used").choices(lifecycles))
    .option("--sunset <date>", "the day from which on it may be gone, such as 2027-01-01")
    .option("--replaced-by <external-id>", "the topic to use instead")
    .option("--consumer <name=contact...>", "all who declare to read its events; the contact may be left out")
    .option("--protected", "reject plans that disable it")
    .option("--no-protected", "let plans disable it")
    .addOption(
      new Option(
        "--if-version <version>",
        "only if its details have this version; 0 if it was never described",
      ).argParser(parseWhole),
    )
    .option(...forceOption)
    .option("--json", "print the topic as JSON")
    .option(...serverOption)
    .action(async (externalId: string, flags: DescribeFlags, command: Command) => {
      if (hasOnly(flags, ["ifVersion", "force", "json", "server"]))
        command.error("error: say what to change; see --help");
      const { changeDetails } = await import("./describe.ts");
      await changeDetails(externalId, flags);
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
    .option(...serverOption)
    .action(async (flags: ExportFlags, command: Command) => {
      if (flags.out === undefined && flags.format === "yaml")
        command.error("error: --format yaml needs --out");
      if (flags.format === "yaml") await (await import("./export-yaml.ts")).exportYaml(flags);
      else await (await import("./export.ts")).exportTopics(flags);
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
    .option(...serverOption)
    .action(async (files: string[], flags: ImportFlags) => {
      const { importTopics } = await import("./import.ts");
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
      const { compareEgressTopics } = await import("./egress.ts");
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
    .option(...serverOption)
    .action(async (externalId: string | undefined, flags: AnalyzeFlags) => {
      const { analyze } = await import("./analyze.ts");
      await runWithClient(flags, (client) => analyze(client, externalId, flags));
    });
}

/** Whether there are no other flags. */
const hasOnly = (flags: object, names: readonly string[]): boolean =>
  Object.keys(flags).every((name) => names.includes(name));
