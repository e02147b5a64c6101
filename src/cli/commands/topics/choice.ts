import { InvalidArgumentError, Option, type Command } from "commander";

import { lifecycles } from "../../../../schemas/topics/details.ts";
import { topicStates } from "../../../../schemas/topics/view.ts";
import type { TopicListQuery } from "../../../../schemas/topics/list.ts";
import { parseUnusedFor } from "../../input/options.ts";

type ChoiceMembers = "state" | "name" | "namespace" | "source" | "unusedFor" | DetailsMembers;
type DetailsMembers = "owner" | "tag" | "label" | "lifecycle" | "set";

/** The options that select topics, as given. */
export interface TopicChoiceFlags extends Partial<Pick<TopicListQuery, ChoiceMembers>> {
  readonly externalId?: string[];
  readonly search?: string;
}

export const addTopicChoice = (command: Command): Command =>
  command
    .addOption(
      new Option("--state <state>", "only topics in this state").choices(topicStates).default("active"),
    )
    .option("--external-id <id...>", "only topics with these external ids")
    .option("--name <name>", "only topics of this name; 'Critical*' matches names that begin with Critical")
    .option("--namespace <namespace>", "only topics in this namespace; '' for topics without one")
    .addOption(
      new Option(
        "--source <kind>",
        "only topics created over HTTP or on the command line (http), or only announced ones",
      ).choices(["http", "announcement"] satisfies TopicListQuery["source"][]),
    )
    .option("--owner <owner>", "only topics with this owner")
    .option("--tag <tag>", "only topics with this tag")
    .addOption(new Option("--label <name=value>", "only topics with this label").argParser(parseLabel))
    .addOption(
      new Option("--lifecycle <lifecycle>", "only described topics with this lifecycle").choices(lifecycles),
    )
    .option("--set <set>", "only topics that this set owns")
    .addOption(
      new Option(
        "--search <words>",
        "only topics with all of these words in their external id, name or details, and without another of these conditions those whose external id or name begins with the text",
      ).conflicts(["name", "externalId"]),
    )
    .addOption(
      new Option(
        "--unused-for <duration>",
        "only topics that existed for this time, such as 30d, without an event in it",
      ).argParser(parseUnusedFor),
    );

function parseLabel(given: string): string {
  if (/^[^=]+=/.test(given)) return given;
  throw new InvalidArgumentError("A label is a name and a value, such as cost-center=4711.");
}
