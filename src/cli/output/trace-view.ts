import type { RecordContent, EventTrace } from "../../../schemas/events.ts";
import { formatCount } from "./format.ts";
import { sanitize, type Output } from "./output.ts";
import { writeExplanation } from "./pick-view.ts";
import { createTableWriter } from "./table.ts";

export const formatContent = (content: RecordContent | null): string =>
  content === null ? "none" : (content.text ?? `base64 ${content.base64 ?? ""}`);

/** Writes the trace of an event. */
export async function writeTrace(output: Output, event: EventTrace): Promise<void> {
  const { id, time, eventType, eventId, copies, deadLetter, then, now } = event;
  await output.write(
    `${sanitize([id, eventType, eventId, time].filter((one) => one !== null).join("  "))}\n`,
  );
  await output.write(`${sanitize(describeOutcome(event))}\n`);
  await writeTopics(output, event);
  if (copies.length > 0) {
    await output.write("\n");
    const rows = await createTableWriter(
      output,
      ["copy for", "kafka topic", "partition", "offset"].map((head) => ({ head })),
    );
    for (const { externalId, kafkaTopic, partition, offset } of copies)
      await rows.add([
        sanitize(externalId ?? "no topic"),
        sanitize(kafkaTopic),
        String(partition),
        String(offset),
      ]);
    await rows.end();
  }
  if (!event.copiesComplete && event.waitsFor === 0 && now.total + (then?.total ?? 0) > 0)
    await output.write("There may be copies that were not found: not all records could be read.\n");
  if (deadLetter !== null)
    await output.write(
      sanitize(
        `\nIt is a dead letter, ${deadLetter.code}: ${deadLetter.message}${deadLetter.replays === 0 ? "" : ` Replayed: ${formatCount(deadLetter.replays, "time")}.`}`,
      ) + "\n",
    );
  const explained = event.explain?.now ?? event.explain?.then;
  if (event.explain !== undefined)
    if (explained) await writeExplanation(output, explained);
    else await output.write("\nThe topic to explain does not exist, or its filter cannot be read.\n");
}

function describeOutcome({ outcome, waitsFor, code = "" }: EventTrace): string {
  if (outcome === "waiting")
    return `The router has not read it yet: ${formatCount(waitsFor, "record")} to go, this one included.`;
  if (outcome === "rejected") return `The router rejected it: ${code}.`;
  return outcome === "matched"
    ? "The router has read it."
    : "The router has read it; no topic matches it now.";
}

/** The topics that match now or matched then. */
async function writeTopics(output: Output, { now, then, outcome }: EventTrace): Promise<void> {
  if (outcome === "rejected") return;
  if (then === null)
    await output.write("Which topics matched when it was written is not known: there are too many topics.\n");
  const current = new Map(now.topics.map((topic) => [topic.externalId, topic]));
  const past = new Map((then?.topics ?? []).map((topic) => [topic.externalId, topic]));
  const all = [...new Map([...past, ...current]).values()];
  if (all.length === 0) return;
  await output.write("\n");
  const heads = ["topic", "name", "namespace", "then", "now", "kafka topic"];
  const rows = await createTableWriter(
    output,
    heads.map((head) => ({ head })),
  );
  for (const { externalId, name, namespace, egressTopic = "", egressFault } of all) {
    const version = past.get(externalId)?.version;
    await rows.add(
      [
        ...[externalId, name, namespace],
        then === null ? "?" : version === undefined ? "no" : `version ${version}`,
        current.has(externalId) ? "yes" : "no",
        egressFault ?? egressTopic,
      ].map(sanitize),
    );
  }
  await rows.end();
  const more = Math.max(now.total - now.topics.length, (then?.total ?? 0) - (then?.topics.length ?? 0));
  if (more > 0) await output.write(`and ${formatCount(more, "more topic")}\n`);
}
