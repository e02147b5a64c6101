import { InvalidArgumentError, Option, type Command } from "commander";

import type { TopicSetView } from "../../../../schemas/topics/sets.ts";
import { listSets } from "../../../operations/topic-sets.ts";
import type { MaxDeletes } from "../../../plans/create-plan.ts";
import { addList } from "../../client/command.ts";
import { serverOption, type ServerFlag } from "../../input/server.ts";
import { parseCount } from "../../input/options.ts";
import { formatMinute } from "../../output/format.ts";
import type { ApplyFlags } from "./apply.ts";
import type { PlanFlags } from "./plan.ts";
import type { DriftFlags } from "./sets.ts";

/** Defines the commands that manage topics from files. */
export function definePlanCommands(topics: Command): void {
  addPlanOptions(topics.command("plan"))
    .description("compare files with the stored topics of a set, and show what `apply` would change")
    .argument("[file...]", "files (.yaml, .yml, .json, .ndjson), or folders with such files")
    .option("--out <file>", "write the plan to this file, for `topicsync topics apply`")
    .addOption(
      new Option("--format <format>", "how to print it").choices(["text", "markdown"]).default("text"),
    )
    .addOption(
      new Option(
        "--impact [count]",
        "also read the last events, 100000 or this many, and count those that would match newly and no longer",
      ).argParser(parseCount),
    )
    .addOption(
      new Option(
        "--drift",
        "instead, list the topics of --set, or of all sets, that were changed since their set was applied",
      ).conflicts(planned),
    )
    .option("--fail-on-changes", "exit with 2 if there are changes, or drift")
    .option("--json", "print JSON")
    .action(async (paths: string[], flags: PlanFlags & DriftFlags, command: Command) => {
      if ((paths.length === 0) !== (flags.drift === true))
        command.error("error: give either files, or --drift without files");
      if (flags.drift) {
        const { showDrift } = await import("./sets.ts");
        await showDrift(flags);
        return;
      }
      const { planTopics } = await import("./plan.ts");
      await planTopics(paths, flags);
    });
  addPlanOptions(topics.command("apply"))
    .description("make the changes of a plan; what was made already is left as it is")
    .argument("<file...>", "the plan; with --yes: files of topics, which are planned and applied in one run")
    .option("--yes", "plan and apply")
    .option("--json", "print the result as JSON")
    .action(async (paths: string[], flags: ApplyFlags) => {
      const { applyTopics } = await import("./apply.ts");
      await applyTopics(paths, flags);
    });
  addList<TopicSetView>(topics, {
    name: "sets",
    operation: listSets,
    description: "list the sets, with where and when they were applied last",
    member: "sets",
    head: ["set", "origin", "last apply", "by", "revision", "changes"],
    toRow: ({ name, origin, applies: [last] }) => [
      name,
      origin ?? "",
      ...(last === undefined
        ? ["", "", "", ""]
        : [
            formatMinute(new Date(last.endedOn)),
            last.by,
            last.revision?.slice(0, 12) ?? "",
            last.applied === last.total ? String(last.total) : `${last.applied} of ${last.total}`,
          ]),
    ],
    empty: "There are no sets; `topicsync topics apply` creates them.",
  });
  topics
    .command("adopt")
    .description("make topics members of a set, without changing them")
    .argument("<external-id...>", "their external ids")
    .requiredOption("--set <name>", "the set")
    .option(...serverOption)
    .action(async (externalIds: string[], flags: ServerFlag & { readonly set: string }) => {
      const { adoptTopics } = await import("./sets.ts");
      await adoptTopics(externalIds, flags);
    });
  topics
    .command("release")
    .description("end the membership of topics in their sets, without changing them")
    .argument("<external-id...>", "their external ids")
    .option(...serverOption)
    .action(async (externalIds: string[], flags: ServerFlag) => {
      const { releaseTopics } = await import("./sets.ts");
      await releaseTopics(externalIds, flags);
    });
}

/** The options that are about files. */
const planned = [
  ...["prune", "maxDeletes", "allowEmpty", "adopt", "takeOver", "skipBlocked", "strict", "origin"],
  ...["out", "format", "impact"],
];

const addPlanOptions = (command: Command): Command =>
  command
    .option("--set <name>", "the set, if the files do not name it")
    .option("--prune", "disable topics of the set that are no longer in the files that are read")
    .addOption(
      new Option(
        "--max-deletes <count>",
        "disable at most this many topics, or this share of the set (20%); default: 10, or 10% if that is more",
      ).argParser(parseMaxDeletes),
    )
    .option("--allow-empty", "accept files without any topics")
    .option("--adopt", "adopt topics that exist and belong to no set")
    .option("--take-over <set>", "adopt topics of this other set")
    .option("--skip-blocked", "leave out changes that cannot be made")
    .option("--strict", "treat warnings like changes that cannot be made")
    .option("--origin <name>", "where the files are from; default: the repository's remote `origin`")
    .option(...serverOption);

function parseMaxDeletes(given: string): MaxDeletes {
  if (!given.endsWith("%")) return { count: given === "0" ? 0 : parseCount(given) };
  const percent = Number(given.slice(0, -1));
  if (/^\d{1,3}%$/.test(given) && percent <= 100) return { percent };
  throw new InvalidArgumentError("It must be a whole number, or a share such as 20%.");
}
