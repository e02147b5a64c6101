import { exitCodes, UnavailableError } from "../../lib/errors.ts";
import { readEvent } from "../../service/event-reader.ts";
import { addRecord } from "../../routing/event.ts";
import type { EventRecord } from "../../matching/filter/record.ts";
import type { CommandContext } from "../context.ts";
import { readLines, type Line } from "../input/files.ts";
import { formatCount } from "../output/format.ts";
import { printError, openOutput, sanitize, type Output } from "../output/output.ts";
import type { PickedTopic, StoredTopics } from "./pick-topics.ts";
import { listTopicColumns, toPickJson, toPickedRow } from "../output/pick-view.ts";
import { createLongProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

/** Files with one event per line. */
interface EventLines {
  readonly topics: StoredTopics;
  /** The data of every event's record. */
  readonly record: EventRecord | undefined;
  readonly files: readonly string[];
  /** Size of all files, as far as known. */
  readonly bytes: number;
  readonly json: boolean;
}

/** The result for all lines. */
interface Tally {
  events: number;
  /** Events without a topic. */
  unmatched: number;
  faulty: number;
  readonly counts: Map<PickedTopic, number>;
}

const kilobyte = 1_000;
/** Below this there is no progress bar. */
const minProgressKilobytes = 10_000;
const maxFaultsShown = 20;

/**
 * Picks for each line; prints the number of events per topic at the end or, as JSON, the topics of each line.
 */
export async function pickLines({ abort }: CommandContext, work: EventLines): Promise<void> {
  const { topics, files, json } = work;
  const output = openOutput();
  const tally: Tally = { events: 0, unmatched: 0, faulty: 0, counts: new Map() };
  const progress = createLongProgress("kB of events", Math.ceil(work.bytes / kilobyte), minProgressKilobytes);
  // Output and a progress bar would overwrite each other on a terminal.
  if (json && process.stdout.isTTY) progress.end("picking");
  let before = 0;
  for (const file of files) {
    let bytes = 0;
    for await (const line of readLines(file)) {
      if (abort.aborted) throw new UnavailableError(`stopped after ${tally.events} events`);
      bytes = line.bytes;
      progress.at((before + bytes) / kilobyte);
      const picked = pickLine(work, line, { file, tally });
      if (picked === undefined || !json) continue;
      const { naming } = topics;
      const result = { file: `${file}:${line.number}`, topics: picked, explained: undefined, naming };
      if (!(await output.write(`${JSON.stringify(toPickJson(result))}\n`))) return;
    }
    before += bytes;
  }
  progress.end(`read ${formatCount(tally.events, "event")}`);
  if (!json) await printSummary(output, tally, topics);
  if (tally.faulty === 0) return;
  printError(`${tally.faulty} ${tally.faulty === 1 ? "line is not an event" : "lines are not events"}`);
  process.exitCode = exitCodes.rejected;
}

/** Returns the topics of the event in a line; undefined for an empty or invalid line. */
function pickLine(
  { topics, record }: EventLines,
  { text, number }: Line,
  { file, tally }: { readonly file: string; readonly tally: Tally },
): PickedTopic[] | undefined {
  if (text.trim() === "") return undefined;
  const read = readEvent(text);
  if (read instanceof Error) {
    tally.faulty += 1;
    if (tally.faulty <= maxFaultsShown) printError(sanitize(`${file}:${number}: ${read.message}`));
    return undefined;
  }
  const picked = topics.pick(read.event, addRecord(read, record));
  tally.events += 1;
  if (picked.length === 0) tally.unmatched += 1;
  for (const topic of picked) tally.counts.set(topic, (tally.counts.get(topic) ?? 0) + 1);
  return picked;
}

async function printSummary(
  output: Output,
  { events, unmatched, counts }: Tally,
  { size, naming }: StoredTopics,
): Promise<void> {
  if (counts.size > 0) {
    const byCount = [...counts].toSorted(
      ([a, countA], [b, countB]) => countB - countA || (a.externalId < b.externalId ? -1 : 1),
    );
    const rows = await createTableWriter(output, [{ head: "events" }, ...listTopicColumns(naming)]);
    for (const [topic, count] of byCount)
      if (!(await rows.add([String(count), ...toPickedRow(topic, naming)]))) return;
    await rows.end();
  }
  await output.write(
    `${formatCount(events, "event")}, ${unmatched} without a topic; ${counts.size} of ${size} topics have events\n`,
  );
}
