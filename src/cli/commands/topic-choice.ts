import { InvalidArgumentError, Option, type Command } from "commander";

import { lifecycles, type TopicLifecycle } from "../../../schemas/topic-details.ts";
import { topicStates } from "../../../schemas/topic-view.ts";
import { parseConditions } from "../../topics/details-search.ts";
import { parseName } from "../../operations/topic-query.ts";
import type { TopicPageQuery } from "../../topics/topic-pages.ts";
import type { Source } from "../../topics/topic.ts";

/** The options that select topics, as given. */
export interface TopicChoiceFlags {
  readonly state?: TopicPageQuery["state"];
  readonly externalId?: string[];
  readonly name?: string;
  readonly namespace?: string;
  readonly source?: Source["kind"];
  readonly owner?: string;
  readonly tag?: string;
  readonly label?: string;
  readonly lifecycle?: TopicLifecycle;
  readonly set?: string;
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
      ).choices(["http", "announcement"] satisfies Source["kind"][]),
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
    );

function parseLabel(given: string): string {
  if (/^[^=]+=/.test(given)) return given;
  throw new InvalidArgumentError("A label is a name and a value, such as cost-center=4711.");
}

/** Throws a RejectionError for words that cannot be searched for. */
export function toTopicQuery({
  state,
  externalId,
  name,
  namespace,
  source,
  search,
  ...details
}: TopicChoiceFlags): TopicPageQuery {
  return {
    state: state ?? "active",
    externalIds: externalId,
    ...parseName(name),
    namespace,
    namespaces: "all",
    source,
    ...parseConditions({ ...details, q: search }),
  };
}
