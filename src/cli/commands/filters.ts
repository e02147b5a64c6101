import type { Command } from "commander";

import { exitCodes, UnavailableError } from "../../lib/errors.ts";
import { canonicalize } from "../../matching/filter/canonical.ts";
import {
  FilterSyntaxError,
  mergeEquals,
  type Filter,
  type FilterMember,
} from "../../matching/filter/filter.ts";
import { parseFilter } from "../../matching/filter/parse.ts";
import { printFilter } from "../../matching/filter/to-text.ts";
import { findFilterErrors } from "../../matching/filter/topic-filters.ts";
import { describeFilter } from "../../matching/filter/to-text.ts";
import type { PickableTopic } from "../../matching/feed.ts";
import { countTopics, streamTopics } from "../../storage/topic-feed.ts";
import { formatFilterError } from "../output/caret.ts";
import { runCommand, type CommandContext } from "../context.ts";
import { formatCount } from "../output/format.ts";
import { printError, openOutput, printLine, sanitize } from "../output/output.ts";
import { createTopicProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

interface Flags {
  readonly json?: true;
}

interface ExplainFlags extends Flags {
  readonly contentQuery?: true;
}

/** Defines `topicsync filters …`. */
export function defineFilters(filters: Command): void {
  filters
    .command("explain")
    .description("explain a filter in words")
    .argument("<filter>", "a filter such as 'a=1&b=2,3'")
    .option("--content-query", "treat it as a contentQuery, where event.x and x are the same name")
    .option("--json", "print JSON: the conditions and the canonical text")
    .action((text: string, { json, contentQuery }: ExplainFlags) => {
      const filter = readFilter(text, contentQuery ? "contentQuery" : "headerQuery");
      if (filter === undefined) process.exitCode = exitCodes.rejected;
      else if (json)
        printLine(JSON.stringify({ ...mergeEquals(filter), canonical: printFilter(canonicalize(filter)) }));
      else explain(filter);
    });

  filters
    .command("check")
    .description("list the stored topics with invalid filters, which match no event")
    .option("--json", "print one line of JSON per filter (NDJSON) instead of a table")
    .action((flags: Flags) => runCommand((connection) => check(connection, flags)));
}

/** Prints the error and returns undefined if the filter is invalid. */
function readFilter(text: string, member: FilterMember): Filter | undefined {
  try {
    return parseFilter(text, member);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    for (const line of formatFilterError(text, error)) printError(line);
    return undefined;
  }
}

function explain(filter: Filter): void {
  const { conditions, notes } = describeFilter(filter);
  if (conditions.length === 0) printLine("matches every event");
  for (const [index, words] of conditions.entries())
    printLine(sanitize(`${index + 1}. ${index > 0 ? "and " : ""}${words}`));
  const text = printFilter(canonicalize(filter));
  printLine(`\ncanonical: ${text === "" ? "(empty)" : sanitize(text)}`);
  for (const note of notes) printLine(`note: ${sanitize(note)}`);
}

/** An invalid filter of a stored topic. */
interface InvalidFilter {
  readonly topic: PickableTopic;
  readonly filter: FilterMember;
  readonly error: FilterSyntaxError;
}

const findInvalidFilters = (topic: PickableTopic): InvalidFilter[] =>
  findFilterErrors(topic).flatMap((error) =>
    error.member === undefined ? [] : [{ topic, filter: error.member, error }],
  );

async function check({ database, abort }: CommandContext, { json }: Flags): Promise<void> {
  const store = await database();
  const progress = createTopicProgress("checking topics", await countTopics(store));
  const output = openOutput();
  const rows = json ? undefined : await createTableWriter(output, columns);
  let topics = 0;
  let faulty = 0;
  for await (const topic of streamTopics(store)) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${topics} topics`);
    topics += 1;
    const faults = findInvalidFilters(topic);
    if (faults.length > 0) faulty += 1;
    for (const fault of faults) {
      // Rows and a progress bar would overwrite each other on a terminal.
      if (process.stdout.isTTY) progress.end(`first invalid filter after ${formatCount(topics, "topic")}`);
      const goesOn =
        rows === undefined
          ? await output.write(`${JSON.stringify(toJson(fault))}\n`)
          : await rows.add(toRow(fault));
      if (!goesOn) return;
    }
    progress.at(topics);
  }
  progress.end(`checked ${formatCount(topics, "topic")}`);
  if (faulty > 0) process.exitCode = exitCodes.rejected;
  if (rows === undefined) return;
  if (faulty > 0) await rows.end();
  await output.write(`${summarize(topics, faulty)}\n`);
}

const columns = [
  { head: "external id" },
  { head: "name", width: 30 },
  { head: "filter", width: 14 },
  { head: "fault" },
];

const toRow = ({ topic, filter, error }: InvalidFilter): string[] => [
  sanitize(topic.externalId),
  sanitize(topic.name),
  filter,
  formatFilterError(topic[filter], error).join("\n"),
];

const toJson = ({ topic: { headerQuery, contentQuery, ...topic }, filter, error }: InvalidFilter) => ({
  ...topic,
  filter,
  text: { headerQuery, contentQuery }[filter],
  problem: error.problem,
  position: error.position,
});

function summarize(topics: number, faulty: number): string {
  const all = formatCount(topics, "topic");
  if (faulty === 0) return `${all}, all filters are valid`;
  return `${faulty} of ${all} ${faulty === 1 ? "has an invalid filter and matches" : "have invalid filters and match"} no event`;
}
