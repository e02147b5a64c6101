import { Option, type Command } from "commander";

import type { TopicChoice } from "../../storage/topic-list.ts";
import type { Source } from "../../topics/topic.ts";

/** The options that choose topics, as they were given. */
export interface TopicChoiceFlags {
  readonly externalId?: string[];
  readonly name?: string;
  readonly namespace?: string;
  readonly source?: Source["kind"];
}

/** Adds the options that choose topics. */
export const withTopicChoice = (command: Command): Command =>
  command
    .option("--external-id <id...>", "these only")
    .option("--name <name>", "with this name; a * at the end stands for whatever follows: 'Critical*'")
    .option("--namespace <namespace>", "in this namespace; '' for those without one")
    .addOption(
      new Option("--source <kind>", "made over HTTP or on the command line, or announced").choices([
        "http",
        "announcement",
      ] satisfies Source["kind"][]),
    );

/** What the options say. */
export const toTopicChoice = ({
  externalId: externalIds,
  name,
  namespace,
  source,
}: TopicChoiceFlags): TopicChoice => ({ externalIds, name, namespace, source });
