import type { ConditionResult } from "../../matching/filter/topic-filters.ts";
import { describeCondition } from "../../matching/filter/to-text.ts";
import { toExplanation } from "../../matching/explanation.ts";
import { sanitize, type Output } from "./output.ts";
import type { PickedTopic } from "../commands/pick-topics.ts";
import { createTableWriter } from "./table.ts";

/** What became of the conditions of one topic. */
export interface ExplainedTopic {
  readonly externalId: string;
  /** None for a topic that every event belongs to. */
  readonly results: readonly ConditionResult[];
}

/** The topics that an event belongs to. */
export interface Answer {
  readonly file: string;
  readonly topics: readonly PickedTopic[];
  readonly explained: ExplainedTopic | undefined;
}

const maxValuesShown = 10;

/** An answer for programs, in the words of `POST …/topic/pick`. */
export const answerJson = ({ file, topics, explained }: Answer): object => ({
  event: file,
  topics,
  ...(explained && { explain: toExplanation(explained.externalId, explained.results) }),
});

/** An answer for people. False once nobody reads any more. */
export async function writeAnswer(output: Output, { file, topics, explained }: Answer): Promise<boolean> {
  const name = sanitize(file === "-" ? "standard input" : file);
  const count = `${topics.length} ${topics.length === 1 ? "topic" : "topics"}`;
  const goesOn = await output.write(
    `${name} belongs to ${topics.length === 0 ? "no topic." : `${count}:`}\n`,
  );
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
  if (results.length === 0) return output.write(`\nEvery event belongs to ${topic}: it has no conditions.\n`);
  const verdict = results.every(({ held }) => held) ? "belongs" : "does not belong";
  await output.write(`\nIt ${verdict} to ${topic}:\n`);
  const rows = await createTableWriter(output, [
    { head: "holds" },
    { head: "filter" },
    { head: "condition" },
    { head: "the event has" },
  ]);
  for (const { condition, held, found } of results)
    await rows.add([
      held ? "yes" : "no",
      condition.member,
      sanitize(describeCondition(condition)),
      foundText(found),
    ]);
  return rows.end();
}

function foundText(found: readonly string[]): string {
  if (found.length === 0) return "nothing";
  const some = found.slice(0, maxValuesShown).map((value) => sanitize(JSON.stringify(value)));
  const more = found.length - some.length;
  return some.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
