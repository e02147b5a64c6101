import { RejectionError } from "@topicsync/lib/errors";
import { FilterSyntaxError, parseFilter, type FilterTexts, hasUse } from "@topicsync/filters";
import type { TopicList } from "../../../../schemas/topics/list.ts";
import type { TopicView } from "../../../../schemas/topics/view.ts";
import { runWithClient } from "../../client/client.ts";
import { maxPageSize, readTopics } from "../../client/topics.ts";
import type { ServerFlag } from "../../input/server.ts";
import { formatCount, formatMinute } from "../../output/format.ts";
import { printItems } from "../../output/items.ts";
import { printError, printLine } from "../../output/output.ts";
import { toTopicRow, topicColumns } from "../../output/topic-view.ts";
import type { TopicChoiceFlags } from "./choice.ts";

export interface ListFlags extends TopicChoiceFlags, ServerFlag {
  readonly limit?: number;
  readonly all?: true;
  readonly json?: true;
  readonly usesPath?: string;
  readonly usesValue?: string;
}

const defaultRowLimit = 100;

/** Prints topics while they are read. */
export async function printTopics(flags: ListFlags): Promise<void> {
  const json = flags.json === true;
  const limit = flags.all ? undefined : (flags.limit ?? (json ? undefined : defaultRowLimit));
  const isUser = createUseTest(flags);
  let counted: TopicList["counted"];
  const printed = await runWithClient(flags, async (client) => {
    const pageSize = Math.min((limit ?? maxPageSize) + 1, maxPageSize);
    const onPage = ({ counted: span }: TopicList): void => void (counted = span);
    const topics = select(readTopics(client, flags, { pageSize, onPage }), isUser);
    const { abort } = client;
    return printItems(topics, { json, columns: topicColumns, toRow: toTopicRow, limit, abort });
  });
  if (printed === undefined) return;
  const { count, hasMore } = printed;
  if (hasMore)
    printError(
      `${count === 1 ? "Only the first topic is" : `Only the first ${count} topics are`} shown; use --all or --limit.`,
    );
  else if (!json) printLine(summarize(count, flags));
  if (counted !== undefined) printError(describeCounting(counted, flags));
}

/** What it means that no event was counted. */
const describeCounting = (counted: TopicList["counted"], { unusedFor }: ListFlags): string =>
  counted
    ? `Events were counted from ${formatMinute(new Date(counted.since))} until ${formatMinute(new Date(counted.until))}. Topics are unused if they were counted for all of ${unusedFor}.`
    : "No counts are stored yet: a router stores them within ten minutes.";

async function* select(
  topics: AsyncIterable<TopicView>,
  isUser: (topic: TopicView) => boolean,
): AsyncGenerator<TopicView> {
  for await (const topic of topics) if (isUser(topic)) yield topic;
}

/** Whether a topic has the condition that the flags ask for. */
function createUseTest({ usesPath, usesValue }: ListFlags): (topic: FilterTexts) => boolean {
  if (usesPath === undefined) return () => true;
  const path = parsePath(usesPath);
  return (topic) => hasUse(topic, { path, value: usesValue });
}

function parsePath(text: string): readonly string[] {
  try {
    const [condition] = parseFilter(`${text}.exists=true`).conditions;
    if (condition !== undefined && !condition.ofRecord) return condition.path;
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
  }
  throw new RejectionError(
    "BAD_FILTER",
    `"${text}" is not a path of an event, such as troubleTicket.severity`,
  );
}

function summarize(count: number, { state, ...choice }: ListFlags): string {
  const noun = state === undefined || state === "active" ? "topic" : `${state} topic`;
  if (count > 0) return formatCount(count, noun);
  const isNarrowed = Object.keys(choice).some((name) => !["all", "json", "limit", "server"].includes(name));
  return isNarrowed ? `No ${noun}s match.` : `There are no ${noun}s.`;
}
