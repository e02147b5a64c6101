import { RejectionError, UnavailableError } from "../../lib/errors.ts";
import { FilterSyntaxError } from "../../matching/filter/filter.ts";
import { parseFilter } from "../../matching/filter/parse.ts";
import type { FilterTexts } from "../../matching/filter/topic-filters.ts";
import { hasUse } from "../../matching/filter/uses.ts";
import { streamTopics } from "../../topics/topic-pages.ts";
import { toTopicView } from "../../topics/topic-view.ts";
import { streamLastEvents } from "../../topics/usage.ts";
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
  readonly usesPath?: string;
  readonly usesValue?: string;
}

const defaultRowLimit = 100;

/** Prints topics while they are read. */
export async function listTopics({ services, abort }: CommandContext, flags: ListFlags): Promise<void> {
  const { json } = flags;
  const limit = flags.all ? undefined : (flags.limit ?? (json ? undefined : defaultRowLimit));
  const isUser = createUseTest(flags);
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, topicColumns);
  const sources = await services();
  let count = 0;
  let hasMore = false;
  const topics = streamTopics(sources, toTopicQuery(flags), { withDetails: json === true });
  for await (const listed of streamLastEvents(sources.topicUsage, topics)) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
    if (!isUser(listed.topic)) continue;
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
  if (hasMore)
    printError(
      `${count === 1 ? "Only the first topic is" : `Only the first ${count} topics are`} shown; use --all or --limit.`,
    );
  else if (table !== undefined) await output.write(`${summarize(count, flags)}\n`);
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
  const isNarrowed = Object.keys(choice).some((name) => !["all", "json", "limit"].includes(name));
  return isNarrowed ? `No ${noun}s match.` : `There are no ${noun}s.`;
}
