import { InvalidArgumentError, type Command } from "commander";

import { readEvent } from "../../service/event-reader.ts";
import { exitCodes } from "../../lib/errors.ts";
import { addRecord, readEventRecord, type DecodedEvent } from "../../routing/event.ts";
import { FilterSyntaxError } from "../../matching/filter/filter.ts";
import type { EventRecord } from "../../matching/filter/record.ts";
import { readFilters, type FilterTexts } from "../../matching/filter/topic-filters.ts";
import { explain } from "../../matching/picker/explain.ts";
import { formatFilterError } from "../output/caret.ts";
import { runWithContext, type CommandContext } from "../context.ts";
import { parseDate } from "../input/options.ts";
import { collectFile, getTotalSize, readTextFile } from "../input/files.ts";
import { printError, openOutput, sanitize } from "../output/output.ts";
import { pickLines } from "./pick-lines.ts";
import { loadTopics } from "./pick-topics.ts";
import { toPickJson, writePickResult, type ExplainedTopic } from "../output/pick-view.ts";

interface Flags {
  readonly json?: true;
  readonly ndjson?: true;
  readonly explain?: string;
  readonly record?: EventRecord;
  readonly at?: Date;
}

export function definePick(command: Command): void {
  command
    .argument("<event-file...>", 'files with one event each; "-" is standard input', collectFile)
    .option("--ndjson", "read one event per line; print the number of events per topic")
    .option(
      "--explain <externalId>",
      "also show which conditions of this topic match, with the values in the event",
    )
    .option(
      "--record <json>",
      'the data of the record that carries the event: {"$key": "…", "$header": {"NAME": "…"}, "$ce": {"type": "…"}}',
      parseRecord,
    )
    .option(
      "--at <time>",
      "pick from the topics as they were at this time (2026-11-21T07:18:04Z), and show the version of each",
      parseDate,
    )
    .option("--json", "print one line of JSON per event (NDJSON) instead of tables")
    .action(async (files: string[], flags: Flags, command: Command) => {
      if (flags.ndjson && flags.explain !== undefined)
        command.error("error: --explain cannot be combined with --ndjson");
      // Fails early on missing files: reading the topics may take long.
      const bytes = await getTotalSize(files);
      if (flags.ndjson) {
        await runWithContext(async (connection) => {
          const topics = await loadTopics(connection, undefined, flags.at);
          const { record, json = false } = flags;
          await pickLines(connection, { topics, record, files, bytes, json });
        });
        return;
      }
      const events = await readEvents(files);
      if (events.length > 0) await runWithContext((connection) => pick(connection, events, flags));
    });
}

function parseRecord(json: string): EventRecord {
  const read = readEventRecord(json);
  if (read.ok) return read.value;
  const faults = read.faults.map(({ path, message }) => `${path} ${message}`.trim());
  throw new InvalidArgumentError(`${faults.join("; ")}.`);
}

interface NamedEvent extends DecodedEvent {
  readonly file: string;
}

/** Reads the events as the router does; prints an error for each file that is not one. */
async function readEvents(files: readonly string[]): Promise<NamedEvent[]> {
  const events: NamedEvent[] = [];
  for (const file of files) {
    const read = readEvent(await readTextFile(file));
    if (!(read instanceof Error)) events.push({ file, ...read });
    else {
      printError(sanitize(`${file}: ${read.message}`));
      process.exitCode = exitCodes.rejected;
    }
  }
  return events;
}

async function pick(connection: CommandContext, events: readonly NamedEvent[], flags: Flags): Promise<void> {
  const topics = await loadTopics(connection, flags.explain, flags.at);
  const explained =
    flags.explain === undefined ? undefined : createExplainer(flags.explain, topics.explainedFilters, flags);
  const output = openOutput();
  for (const { file, ...decoded } of events) {
    const { event, record } = { ...decoded, record: addRecord(decoded, flags.record) };
    const result = {
      file,
      topics: topics.pick(event, record),
      explained: explained?.(event, record),
      naming: topics.naming,
    };
    const isOpen = flags.json
      ? await output.write(`${JSON.stringify(toPickJson(result))}\n`)
      : await writePickResult(output, result);
    if (!isOpen) return;
  }
}

/**
 * Returns a function that explains how a topic's filters match an event. Prints the error and returns
 * undefined if the filters are invalid; throws if the topic does not exist.
 */
function createExplainer(
  externalId: string,
  filters: FilterTexts | undefined,
  { at }: Pick<Flags, "at">,
): ((event: unknown, record: EventRecord) => ExplainedTopic) | undefined {
  if (filters === undefined)
    throw new Error(
      at === undefined
        ? `there is no topic with the external id "${sanitize(externalId)}"`
        : `there was no topic with the external id "${sanitize(externalId)}" at ${at.toISOString()}`,
    );
  try {
    const conditions = readFilters(filters);
    return (event, record) => ({ externalId, results: explain(conditions, event, record) });
  } catch (error) {
    if (!(error instanceof FilterSyntaxError) || error.member === undefined) throw error;
    printError(sanitize(`the ${error.member} of ${externalId} is invalid:`));
    for (const line of formatFilterError(filters[error.member] ?? "", error)) printError(line);
    process.exitCode = exitCodes.rejected;
    return undefined;
  }
}
