import type { ConditionResult } from "../../matching/picker/explain.ts";
import { describeCondition } from "../../matching/filter/to-text.ts";
import { notATime, toExplanation } from "../../routing/explanation.ts";
import { toEgressView, type EgressNaming } from "../../kafka/interface/egress-naming.ts";
import { formatCount } from "./format.ts";
import { sanitize, type Output } from "./output.ts";
import type { PickedTopic } from "../commands/pick-topics.ts";
import { createTableWriter, type Column } from "./table.ts";

/** The conditions of a topic and whether they hold. */
export interface ExplainedTopic {
  readonly externalId: string;
  /** Empty for a topic that matches every event. */
  readonly results: readonly ConditionResult[];
}

/** The topics that match an event. */
interface PickResult {
  readonly file: string;
  readonly topics: readonly PickedTopic[];
  readonly explained: ExplainedTopic | undefined;
  /** Undefined: no router is configured. */
  readonly naming: EgressNaming | undefined;
}

const maxValuesShown = 10;

/** Converts a result to JSON, with the members of `POST …/topic/pick`. */
export const toPickJson = ({ file, topics, explained, naming }: PickResult): object => ({
  event: file,
  topics:
    naming === undefined ? topics : topics.map((topic) => ({ ...topic, ...toEgressView(naming, topic) })),
  ...(explained && { explain: toExplanation(explained.externalId, explained.results) }),
});

/** Writes a result as text. Resolves to false once the reader has closed the pipe. */
export async function writePickResult(
  output: Output,
  { file, topics, explained, naming }: PickResult,
): Promise<boolean> {
  const name = sanitize(file === "-" ? "standard input" : file);
  const count = formatCount(topics.length, "topic");
  const isOpen = await output.write(`${name} matches ${topics.length === 0 ? "no topic." : `${count}:`}\n`);
  if (!isOpen) return false;
  if (topics.length > 0) {
    const isPast = topics.some(({ version }) => version !== undefined);
    const columns = [...listTopicColumns(naming), ...(isPast ? [{ head: "version" }] : [])];
    const rows = await createTableWriter(output, columns);
    for (const topic of topics) {
      const version = topic.version === undefined ? [] : [String(topic.version)];
      if (!(await rows.add([...toPickedRow(topic, naming), ...version]))) return false;
    }
    await rows.end();
  }
  return explained === undefined || (await writeExplained(output, explained));
}

export const listTopicColumns = (naming: EgressNaming | undefined): Column[] => [
  { head: "external id" },
  { head: "name" },
  { head: "namespace" },
  ...(naming === undefined ? [] : [{ head: "kafka topic" }]),
];

export function toPickedRow(topic: PickedTopic, naming: EgressNaming | undefined): string[] {
  const { externalId, name, namespace } = topic;
  // The fault quotes the name.
  const { egressTopic, egressFault = egressTopic } = toEgressView(naming, topic);
  return [externalId, name, namespace, ...(egressFault === undefined ? [] : [egressFault])].map(sanitize);
}

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
  for (const { condition, held, found, missesTime } of results)
    await rows.add([
      held ? "yes" : "no",
      condition.member,
      sanitize(describeCondition(condition)),
      formatFound(found) + (missesTime ? ` (${notATime})` : ""),
    ]);
  return rows.end();
}

function formatFound(found: readonly string[]): string {
  if (found.length === 0) return "nothing";
  const some = found.slice(0, maxValuesShown).map((value) => sanitize(JSON.stringify(value)));
  const more = found.length - some.length;
  return some.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
