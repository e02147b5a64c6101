import { UnavailableError } from "../../lib/errors.ts";
import { toTopicView } from "../../topics/topic-view.ts";
import type { CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printError } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import { toTopicRow, topicColumns } from "../output/topic-view.ts";
import { toTopicQuery, type TopicChoiceFlags } from "./topic-choice.ts";

export interface ListFlags extends TopicChoiceFlags {
  readonly limit?: number;
  readonly all?: true;
  readonly json?: true;
}

const defaultRowLimit = 100;

/** Prints topics while they are read. */
export async function listTopics({ services, abort }: CommandContext, flags: ListFlags): Promise<void> {
  const { json } = flags;
  const limit = flags.all ? undefined : (flags.limit ?? (json ? undefined : defaultRowLimit));
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, topicColumns);
  const { topicReader } = await services();
  let count = 0;
  let hasMore = false;
  for await (const listed of topicReader.readAll(toTopicQuery(flags))) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
    hasMore = count === limit;
    if (hasMore) break;
    count += 1;
    const topic = toTopicView(listed);
    const isOpen =
      table === undefined
        ? await output.write(`${JSON.stringify(topic)}\n`)
        : await table.add(toTopicRow(topic));
    if (!isOpen) return;
  }
  if (table !== undefined && count > 0) await table.end();
  if (hasMore) printError(`Only the first ${formatCount(count, "topic")} are shown; use --all or --limit.`);
  else if (table !== undefined) await output.write(`${summarize(count, flags)}\n`);
}

function summarize(count: number, { state, externalId, name, namespace, source }: ListFlags): string {
  const noun = state === undefined || state === "active" ? "topic" : `${state} topic`;
  if (count > 0) return formatCount(count, noun);
  const isNarrowed = [externalId, name, namespace, source].some((flag) => flag !== undefined);
  return isNarrowed ? `No ${noun}s match.` : `There are no ${noun}s.`;
}
