import { exitCodes, UnavailableError } from "../../lib/errors.ts";
import { FilterSyntaxError } from "../../matching/filter/filter.ts";
import {
  relateTopic,
  type RelatedTopics,
  type Relation,
  type TopicRelations,
} from "../../topics/relations.ts";
import type { Topic } from "../../topics/topic.ts";
import type { CommandContext } from "../context.ts";
import type { JsonFlag } from "../input/options.ts";
import { formatFilterError } from "../output/caret.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printError, printJson, printLine, sanitize } from "../output/output.ts";
import { createTopicProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";
import { warnSkipped } from "./pick-topics.ts";
import { createUnknownTopicError } from "./topic-changes.ts";

/** Compares a topic, active or not, with all active ones. */
export async function relate(context: CommandContext, externalId: string, { json }: JsonFlag): Promise<void> {
  const { topicReader } = await context.services();
  const found = await topicReader.findByAnyId(externalId);
  if (found === undefined) throw createUnknownTopicError(externalId);
  const relations = await compare(context, found.topic);
  if (relations === undefined) return;
  const { related, impossible, invalid } = relations;
  warnSkipped(invalid);
  if (json) printJson({ externalId: found.topic.externalId, impossible, complete: true, ...related });
  else await print(found.topic, relations);
}

/** Prints the error and returns undefined if the topic's filters are invalid. */
async function compare(
  { services, abort }: CommandContext,
  topic: Topic,
): Promise<TopicRelations | undefined> {
  const { topicReader } = await services();
  const progress = createTopicProgress("comparing topics", await topicReader.estimateCount());
  let compared = 0;
  try {
    return await relateTopic(topicReader, topic, (count) => {
      if (abort.aborted) throw new UnavailableError(`stopped after ${formatCount(count, "topic")}`);
      compared = count;
      progress.at(count);
    });
  } catch (error) {
    if (!(error instanceof FilterSyntaxError) || error.member === undefined) throw error;
    printError(sanitize(`the ${error.member} of ${topic.externalId} is invalid:`));
    for (const line of formatFilterError(topic[error.member], error)) printError(line);
    process.exitCode = exitCodes.rejected;
    return undefined;
  } finally {
    progress.end(`compared ${formatCount(compared, "topic")}`);
  }
}

const headings: Readonly<Record<Relation, string>> = {
  same: "same events",
  containing: "contains it",
  contained: "contained in it",
  disjoint: "no event in common",
  undecided: "undecided",
};

async function print({ externalId }: Topic, { related, impossible }: TopicRelations): Promise<void> {
  if (impossible.length > 0)
    printLine(sanitize(`No event can match ${externalId}: ${impossible.join(" and ")}`));
  const rows = Object.entries(related) as [Relation, RelatedTopics][];
  if (rows.some(([, { total }]) => total > 0)) {
    const table = await createTableWriter(openOutput(), [
      { head: "relation" },
      { head: "external id" },
      { head: "name", width: 30 },
      { head: "namespace" },
    ]);
    for (const [relation, { total, topics }] of rows) {
      for (const topic of topics)
        await table.add([headings[relation], topic.externalId, topic.name, topic.namespace].map(sanitize));
      if (total > topics.length) await table.add([headings[relation], `and ${total - topics.length} more`]);
    }
    await table.end();
  }
  const counts = rows.map(([relation, { total }]) => `${headings[relation]}: ${total}`);
  printLine(counts.join(", "));
}
