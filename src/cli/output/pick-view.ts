import type { PickResponse } from "../../../schemas/pick.ts";
import { formatCount } from "./format.ts";
import { sanitize, type Output } from "./output.ts";
import { createTableWriter } from "./table.ts";

const maxValuesShown = 10;

/** Writes the topics of an event as text. Resolves to false once the reader has closed the pipe. */
export async function writePicked(
  output: Output,
  place: string,
  { topics, total, explain }: PickResponse,
): Promise<boolean> {
  const name = sanitize(place === "-" ? "standard input" : place);
  const shown = topics.length < total ? ` (the first ${topics.length} are shown)` : "";
  const count = total === 0 ? "no topic." : `${formatCount(total, "topic")}${shown}:`;
  if (!(await output.write(`${name} matches ${count}\n`))) return false;
  if (topics.length > 0) {
    // The fault quotes the name.
    const places = topics.map(({ egressFault, egressTopic }) => egressFault ?? egressTopic);
    const hasRouter = places.some((one) => one !== undefined);
    const ofPast = topics.some(({ version }) => version !== undefined);
    const heads = [
      ...["external id", "name", "namespace"],
      ...(ofPast ? ["version"] : []),
      ...(hasRouter ? ["kafka topic"] : []),
    ];
    const rows = await createTableWriter(
      output,
      heads.map((head) => ({ head })),
    );
    for (const [at, topic] of topics.entries()) {
      const cells = [
        ...[topic.externalId, topic.name, topic.namespace],
        ...(ofPast ? [String(topic.version)] : []),
        ...(hasRouter ? [places[at] ?? ""] : []),
      ];
      if (!(await rows.add(cells.map(sanitize)))) return false;
    }
    if (!(await rows.end())) return false;
  }
  return explain === undefined || writeExplanation(output, explain);
}

/**
 * Writes which conditions of a topic an event meets. Resolves to false once the reader has closed the pipe.
 */
export async function writeExplanation(
  output: Output,
  { externalId, version, matches, conditions }: NonNullable<PickResponse["explain"]>,
): Promise<boolean> {
  const topic = sanitize(externalId) + (version === undefined ? "" : ` version ${version}`);
  if (conditions.length === 0) return output.write(`\nEvery event matches ${topic}: it has no conditions.\n`);
  await output.write(`\nThe event ${matches ? "matches" : "does not match"} ${topic}:\n`);
  const rows = await createTableWriter(
    output,
    ["holds", "filter", "condition", "values in the event"].map((head) => ({ head })),
  );
  for (const { filter, condition, held, found, note } of conditions)
    await rows.add([
      held ? "yes" : "no",
      filter,
      sanitize(condition),
      formatFound(found) + (note === undefined ? "" : ` (${note})`),
    ]);
  return rows.end();
}

function formatFound(found: readonly string[]): string {
  if (found.length === 0) return "nothing";
  const some = found.slice(0, maxValuesShown).map((value) => sanitize(JSON.stringify(value)));
  const more = found.length - some.length;
  return some.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
