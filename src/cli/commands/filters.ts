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
import { printError, openOutput, printLine, sanitize } from "../output/output.ts";
import { createTopicProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

interface Flags {
  readonly json?: true;
}

interface ExplainFlags extends Flags {
  readonly contentQuery?: true;
}

/** Adds `topicsync filters …`: what a filter means, and which of the stored ones mean nothing. */
export function addFiltersCommand(program: Command): void {
  const filters = program.command("filters").description("explain a filter, and check the stored ones");

  filters
    .command("explain")
    .description("say in words what a filter means")
    .argument("<filter>", "such as 'a=1&b=2,3'")
    .option("--content-query", "read it as a contentQuery, where event.x and x are the same name")
    .option("--json", "print JSON: the conditions, which all hold, and the canonical text")
    .action((text: string, { json, contentQuery }: ExplainFlags) => {
      const filter = readFilter(text, contentQuery ? "contentQuery" : "headerQuery");
      if (filter === undefined) process.exitCode = exitCodes.refused;
      else if (json)
        printLine(JSON.stringify({ ...mergeEquals(filter), canonical: printFilter(canonicalize(filter)) }));
      else explain(filter);
    });

  filters
    .command("check")
    .description("list the stored topics whose filters cannot be read; no event belongs to them")
    .option("--json", "print a line of JSON for each such filter (NDJSON) instead of a table")
    .action((flags: Flags) => runCommand((connection) => check(connection, flags)));
}

/** Undefined when it is wrong, which is told. */
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

/** A filter of a stored topic that cannot be read. */
interface StoredFault {
  readonly topic: PickableTopic;
  readonly filter: FilterMember;
  readonly error: FilterSyntaxError;
}

const faultsOf = (topic: PickableTopic): StoredFault[] =>
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
    const faults = faultsOf(topic);
    if (faults.length > 0) faulty += 1;
    for (const fault of faults) {
      // Rows and a bar on one terminal would be written into each other.
      if (process.stdout.isTTY) progress.end(`found the first after ${topics} topics`);
      const goesOn =
        rows === undefined
          ? await output.write(`${JSON.stringify(jsonOf(fault))}\n`)
          : await rows.add(rowOf(fault));
      if (!goesOn) return;
    }
    progress.at(topics);
  }
  progress.end(`${topics} topics are checked`);
  if (faulty > 0) process.exitCode = exitCodes.refused;
  if (rows === undefined) return;
  if (faulty > 0) await rows.end();
  await output.write(`${summaryOf(topics, faulty)}\n`);
}

const columns = [
  { head: "external id" },
  { head: "name", width: 30 },
  { head: "filter", width: 14 },
  { head: "fault" },
];

const rowOf = ({ topic, filter, error }: StoredFault): string[] => [
  sanitize(topic.externalId),
  sanitize(topic.name),
  filter,
  formatFilterError(topic[filter], error).join("\n"),
];

const jsonOf = ({ topic: { headerQuery, contentQuery, ...topic }, filter, error }: StoredFault) => ({
  ...topic,
  filter,
  text: { headerQuery, contentQuery }[filter],
  problem: error.problem,
  position: error.position,
});

function summaryOf(topics: number, faulty: number): string {
  const all = `${topics} ${topics === 1 ? "topic" : "topics"}`;
  if (faulty === 0) return `${all}, all filters are fine`;
  return `${faulty} of ${all} ${faulty === 1 ? "has a filter" : "have filters"} that cannot be read: no event belongs to ${faulty === 1 ? "it" : "them"}`;
}
