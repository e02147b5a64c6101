import type { Command } from "commander";

import { exitCodes, getErrorMessage } from "../../lib/errors.ts";
import { FilterSyntaxError } from "../../matching/filter/filter.ts";
import { explain, readFilters, type FilterTexts } from "../../matching/filter/topic-filters.ts";
import { formatFilterError } from "../output/caret.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { collectFile, getTotalSize, readText } from "../input/files.ts";
import { printError, openOutput, sanitize } from "../output/output.ts";
import { pickLines } from "./pick-lines.ts";
import { loadTopics } from "./pick-topics.ts";
import { answerJson, writeAnswer, type ExplainedTopic } from "../output/pick-view.ts";

interface Flags {
  readonly json?: true;
  readonly ndjson?: true;
  readonly explain?: string;
}

/** Adds `topicsync pick`. */
export function addPickCommand(program: Command): void {
  program
    .command("pick")
    .description("tell which of the stored topics events belong to")
    .argument("<event-file...>", 'files with an event each; "-" is standard input', collectFile)
    .option("--ndjson", "the files hold an event on each line; tell how many belong to each topic")
    .option(
      "--explain <externalId>",
      "tell besides which conditions of this topic hold, and what the event has there",
    )
    .option("--json", "print a line of JSON for each event (NDJSON) instead of tables")
    .action(async (files: string[], flags: Flags, command: Command) => {
      if (flags.ndjson && flags.explain !== undefined)
        command.error("error: --explain is for single events, not for --ndjson");
      // Before the topics are read, which may take its time.
      const bytes = await getTotalSize(files);
      if (flags.ndjson) {
        await runCommand(async (connection) => {
          const topics = await loadTopics(connection, undefined);
          await pickLines(connection, { topics, files, bytes, json: flags.json ?? false });
        });
        return;
      }
      const events = await readEvents(files);
      if (events.length > 0) await runCommand((connection) => pick(connection, events, flags));
    });
}

interface NamedEvent {
  readonly file: string;
  readonly event: unknown;
}

/** The events of the files; those that are not JSON are told and left out. */
async function readEvents(files: readonly string[]): Promise<NamedEvent[]> {
  const events: NamedEvent[] = [];
  for (const file of files) {
    const text = await readText(file);
    try {
      events.push({ file, event: JSON.parse(text) as unknown });
    } catch (error) {
      printError(sanitize(`${file}: is not JSON: ${getErrorMessage(error)}`));
      process.exitCode = exitCodes.refused;
    }
  }
  return events;
}

async function pick(connection: CommandContext, events: readonly NamedEvent[], flags: Flags): Promise<void> {
  const topics = await loadTopics(connection, flags.explain);
  const explained = flags.explain === undefined ? undefined : explainer(flags.explain, topics.asked);
  const output = openOutput();
  for (const { file, event } of events) {
    const answer = { file, topics: topics.pick(event), explained: explained?.(event) };
    const goesOn = flags.json
      ? await output.write(`${JSON.stringify(answerJson(answer))}\n`)
      : await writeAnswer(output, answer);
    if (!goesOn) return;
  }
}

/**
 * Explains what a topic makes of an event. Undefined where its filters cannot be read, which is told. Throws where there is no
 * such topic.
 */
function explainer(
  externalId: string,
  filters: FilterTexts | undefined,
): ((event: unknown) => ExplainedTopic) | undefined {
  if (filters === undefined)
    throw new Error(`there is no topic with the external id "${sanitize(externalId)}"`);
  try {
    const conditions = readFilters(filters);
    return (event) => ({ externalId, results: explain(conditions, event) });
  } catch (error) {
    if (!(error instanceof FilterSyntaxError) || error.member === undefined) throw error;
    printError(sanitize(`the ${error.member} of ${externalId} cannot be read:`));
    for (const line of formatFilterError(filters[error.member] ?? "", error)) printError(line);
    process.exitCode = exitCodes.refused;
    return undefined;
  }
}
