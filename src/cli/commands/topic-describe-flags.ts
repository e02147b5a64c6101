import { Option, type Command } from "commander";

import { lifecycles, type TopicLifecycle } from "../../../schemas/topic-details.ts";
import type { ForceFlag } from "../input/options.ts";

/** What the options say. Absent members keep what is stored. */
export interface DescribeFlags extends ForceFlag {
  readonly owner?: string;
  readonly description?: string;
  readonly contact?: string;
  readonly tag?: readonly string[];
  readonly label?: readonly string[];
  readonly lifecycle?: TopicLifecycle;
  readonly sunset?: string;
  readonly replacedBy?: string;
  readonly consumer?: readonly string[];
  readonly protected?: boolean;
  readonly ifVersion?: number;
}

export const addDescribeOptions = (command: Command): Command =>
  command
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
    .option("--no-protected", "let plans disable it");
