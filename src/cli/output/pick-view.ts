import type { ConditionResult } from "../../matching/filter/topic-filters.ts";
import { describeCondition } from "../../matching/filter/to-text.ts";
import { toExplanation } from "../../matching/explanation.ts";
import { formatCount } from "./format.ts";
import { sanitize, type Output } from "./output.ts";
import type { PickedTopic } from "../commands/pick-topics.ts";
import { createTableWriter } from "./table.ts";

/** The conditions of a topic and whether they hold. */
export interface ExplainedTopic {
  readonly externalId: string;
  /** Empty for a topic that matches every event. */
  readonly results: readonly ConditionResult[];
}

/** The topics that match an event. */
export interface PickResult {
  readonly file: string;
  readonly topics: readonly PickedTopic[];
  readonly explained: ExplainedTopic | undefined;
}

const maxValuesShown = 10;

/** Converts a result to JSON, with the members of `POST …/topic/pick`. */
export const toPickJson = ({ file, topics, explained }: PickResult): object => ({
  event: file,
  topics,
  ...(explained && { explain: toExplanation(explained.externalId, explained.results) }),
});

/** Writes a result as text. Resolves to false once the reader has closed the pipe. */
export async function writePickResult(
  output: Output,
  { file, topics, explained }: PickResult,
): Promise<boolean> {
  const name = sanitize(file === "-" ? "standard input" : file);
  const count = formatCount(topics.length, "topic");
  const goesOn = await output.write(`${name} matches ${topics.length === 0 ? "no topic." : `${count}:`}\n`);
  if (!goesOn) return false;
  if (topics.length > 0) {
    const rows = await createTableWriter(output, topicColumns);
    for (const topic of topics) if (!(await rows.add(topicRow(topic)))) return false;
    await rows.end();
  }
  return explained === undefined || (await writeExplained(output, explained));
}

export const topicColumns = [{ head: "external id" }, { head: "name" }, { head: "namespace" }];

export const topicRow = ({ externalId, name, namespace }: PickedTopic): string[] =>
  [externalId, name, namespace].map(sanitize);

async function writeExplained(output: Output, { externalId, results }: ExplainedTopic): Promise<boolean> {
  const topic = sanitize(externalId);
  if (results.length === 0) return output.write(`\nEvery event matches ${topic}: it has no conditions.\n`);
  const verdict = results.every(({ held }) => held) ? "matches" : "does not match";
  await output.write(`\nThe event ${verdict} ${topic}:\n`);
  const rows = await createTableWriter(output, [
    { head: "holds" },
    { head: "filter" },
    { head: "condition" },
    { head: "values in the event" },
  ]);
  for (const { condition, held, found } of results)
    await rows.add([
      held ? "yes" : "no",
      condition.member,
      sanitize(describeCondition(condition)),
      formatFound(found),
    ]);
  return rows.end();
}

function formatFound(found: readonly string[]): string {
  if (found.length === 0) return "nothing";
  const some = found.slice(0, maxValuesShown).map((value) => sanitize(JSON.stringify(value)));
  const more = found.length - some.length;
  return some.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
