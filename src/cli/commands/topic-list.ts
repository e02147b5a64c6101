import { UnavailableError } from "../../lib/errors.ts";
import { listDisabled } from "../../storage/disabled-topics.ts";
import { createRetiredTopicStore } from "../../storage/retired-topics.ts";
import { listTopics } from "../../storage/topic-list.ts";
import { createTopicStore } from "../../storage/topics.ts";
import type { ListedTopic } from "../../topics/topic.ts";
import type { CommandContext } from "../context.ts";
import { printError, openOutput } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import { toTopicChoice, type TopicChoiceFlags } from "./topic-choice.ts";
import { topicColumns, topicJson, topicRow } from "../output/topic-view.ts";

export interface ListFlags extends TopicChoiceFlags {
  readonly disabled?: true;
  readonly limit?: number;
  readonly all?: true;
  readonly json?: true;
}

/** So many lines are read by people. */
const linesForPeople = 100;

/** Prints topics while they are read. */
export async function listTopicsCommand(connection: CommandContext, flags: ListFlags): Promise<void> {
  const { json } = flags;
  const limit = flags.all ? undefined : (flags.limit ?? (json ? undefined : linesForPeople));
  const output = openOutput();
  const rows = json ? undefined : await createTableWriter(output, topicColumns);
  let shown = 0;
  let isMore = false;
  for await (const one of chosen(connection, flags, limit)) {
    if (connection.abort.aborted) throw new UnavailableError(`stopped after ${shown} topics`);
    isMore = shown === limit;
    if (isMore) break;
    shown += 1;
    const goesOn =
      rows === undefined
        ? await output.write(`${JSON.stringify(topicJson(one))}\n`)
        : await rows.add(topicRow(one));
    if (!goesOn) return;
  }
  if (rows !== undefined && shown > 0) await rows.end();
  if (isMore) printError(`These are the first ${shown}; there are more: --all shows them, --limit so many.`);
  else if (rows !== undefined) await output.write(`${summary(shown, flags)}\n`);
}

/** One more than the limit is read, to know whether there are more. */
async function* chosen(
  { database, log }: CommandContext,
  flags: ListFlags,
  limit: number | undefined,
): AsyncGenerator<ListedTopic> {
  const store = await database();
  if (flags.disabled) {
    const stores = { store: createTopicStore(store, log), retired: createRetiredTopicStore(store) };
    for await (const { topic, ...retired } of listDisabled(store, stores)) yield { topic, retired };
    return;
  }
  const most = limit === undefined ? undefined : limit + 1;
  for await (const topic of listTopics(store, toTopicChoice(flags), most)) yield { topic };
}

function summary(shown: number, { disabled, externalId, name, namespace, source }: ListFlags): string {
  const what = disabled ? "disabled topic" : "topic";
  if (shown > 0) return `${shown} ${what}${shown === 1 ? "" : "s"}`;
  const isNarrowed = [externalId, name, namespace, source].some((one) => one !== undefined);
  return isNarrowed ? "No topic is like that." : `There are no ${what}s.`;
}
