import { Option, type Command } from "commander";

import { topicStates } from "../../../schemas/topic-view.ts";
import type { TopicQuery } from "../../topics/listing.ts";
import type { Source } from "../../topics/topic.ts";

/** The options that select topics, as given. */
export interface TopicChoiceFlags {
  readonly state?: TopicQuery["state"];
  readonly externalId?: string[];
  readonly name?: string;
  readonly namespace?: string;
  readonly source?: Source["kind"];
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
    );

export function toTopicQuery({ state, externalId, name, namespace, source }: TopicChoiceFlags): TopicQuery {
  const isPrefix = name?.endsWith("*") === true;
  return {
    state: state ?? "active",
    externalIds: externalId,
    name: isPrefix ? undefined : name,
    namePrefix: isPrefix ? name.slice(0, -1) : undefined,
    namespace,
    source,
  };
}
