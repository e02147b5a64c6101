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
import type { FilterWarning } from "../../../schemas/topic-check.ts";
import type { PickableTopic } from "../../topics/live/feed.ts";
import type { EventSample } from "../../event-types/event-type.ts";
import { findFilterWarnings } from "../../event-types/warnings.ts";
import { createEgressNamingFromConfig } from "../../service/egress-naming.ts";
import { toEgressView, type EgressNaming } from "../../kafka/interface/egress-naming.ts";
import { formatSample, readSample } from "../input/event-sample.ts";
import { formatFilterError } from "../output/caret.ts";
import { runWithContext, type CommandContext } from "../context.ts";
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

interface CheckFlags extends Flags {
  readonly againstEvents?: true;
}

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
    .description(
      "list the stored topics with invalid filters, which match no event, and those that events cannot be forwarded to because no Kafka topic can have the name",
    )
    .option("--json", "print one line of JSON per fault (NDJSON) instead of a table")
    .option(
      "--against-events",
      "also list the conditions that none of the last events meets (see `events types`); they do not change the exit code",
    )
    .action((flags: CheckFlags) => runWithContext((connection) => check(connection, flags)));
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

/** A stored topic whose events cannot be forwarded: no Kafka topic can have the name. */
interface BadEgressName {
  readonly topic: PickableTopic;
  readonly egressTopic: string;
  readonly egressFault: string;
}

/** A condition that none of the last events meets. */
interface UnmetCondition {
  readonly topic: PickableTopic;
  readonly warning: FilterWarning;
}

type TopicFault = InvalidFilter | BadEgressName | UnmetCondition;

const findInvalidFilters = (topic: PickableTopic): InvalidFilter[] =>
  findFilterErrors(topic).flatMap((error) =>
    error.member === undefined ? [] : [{ topic, filter: error.member, error }],
  );

function findBadEgressName(topic: PickableTopic, naming: EgressNaming | undefined): BadEgressName[] {
  const { egressTopic, egressFault } = toEgressView(naming, topic);
  if (egressTopic === undefined || egressFault === undefined) return [];
  return [{ topic, egressTopic, egressFault }];
}

interface CheckedTopics {
  topics: number;
  /** Those with invalid filters. */
  faulty: number;
  /** Those with a bad egress name. */
  misnamed: number;
  /** Conditions that none of the last events meets; undefined if they were not looked for. */
  unmet: number | undefined;
}

async function check(context: CommandContext, { json, againstEvents }: CheckFlags): Promise<void> {
  const { config, services, abort } = context;
  const naming = createEgressNamingFromConfig(config.kafka);
  const sample = againstEvents && (await readSample(context));
  const { topicReader } = await services();
  const progress = createTopicProgress("checking topics", await topicReader.estimateCount());
  const output = openOutput();
  const rows = json ? undefined : await createTableWriter(output, columns);
  const checked: CheckedTopics = { topics: 0, faulty: 0, misnamed: 0, unmet: sample && 0 };
  for await (const topic of topicReader.streamPickable()) {
    if (abort.aborted) throw new UnavailableError(`stopped after ${checked.topics} topics`);
    checked.topics += 1;
    const invalid = findInvalidFilters(topic);
    const misnamed = findBadEgressName(topic, naming);
    if (invalid.length > 0) checked.faulty += 1;
    checked.misnamed += misnamed.length;
    const warnings = sample ? await findFilterWarnings(topic, sample, { showsValues: true }) : [];
    if (checked.unmet !== undefined) checked.unmet += warnings.length;
    const unmet = warnings.map((warning) => ({ topic, warning }));
    for (const fault of [...invalid, ...misnamed, ...unmet]) {
      // Rows and a progress bar would overwrite each other on a terminal.
      if (process.stdout.isTTY) progress.end(`first fault after ${formatCount(checked.topics, "topic")}`);
      const isOpen =
        rows === undefined
          ? await output.write(`${JSON.stringify(toJson(fault))}\n`)
          : await rows.add(toRow(fault));
      if (!isOpen) return;
    }
    progress.at(checked.topics);
  }
  progress.end(`checked ${formatCount(checked.topics, "topic")}`);
  const hasFaults = checked.faulty + checked.misnamed > 0;
  if (hasFaults) process.exitCode = exitCodes.rejected;
  if (rows === undefined) return;
  if (hasFaults || (checked.unmet ?? 0) > 0) await rows.end();
  await output.write(
    summarize(checked, sample)
      .map((line) => `${line}\n`)
      .join(""),
  );
}

const columns = [
  { head: "external id" },
  { head: "name", width: 30 },
  { head: "member", width: 14 },
  { head: "fault" },
];

function toRow(fault: TopicFault): string[] {
  const topic = [fault.topic.externalId, fault.topic.name].map(sanitize);
  if ("egressFault" in fault) return [...topic, "kafka topic", sanitize(fault.egressFault)];
  if ("warning" in fault) return [...topic, fault.warning.filter, sanitize(fault.warning.message)];
  const { filter, error } = fault;
  return [...topic, filter, formatFilterError(fault.topic[filter], error).join("\n")];
}

function toJson(fault: TopicFault): object {
  const { headerQuery, contentQuery, ...topic } = fault.topic;
  if ("egressFault" in fault) {
    const { egressTopic, egressFault } = fault;
    return { ...topic, code: "BAD_EGRESS_NAME", egressTopic, problem: egressFault };
  }
  if ("warning" in fault) {
    const { message, ...warning } = fault.warning;
    return { ...topic, ...warning, problem: message };
  }
  const { filter, error } = fault;
  return {
    ...topic,
    code: "BAD_FILTER",
    filter,
    text: { headerQuery, contentQuery }[filter],
    problem: error.problem,
    position: error.position,
  };
}

function summarize(
  { topics, faulty, misnamed, unmet }: CheckedTopics,
  sample: EventSample | undefined,
): string[] {
  const all = formatCount(topics, "topic");
  const filters =
    faulty === 0
      ? `${all}, all filters are valid`
      : `${faulty} of ${all} ${faulty === 1 ? "has an invalid filter and matches" : "have invalid filters and match"} no event`;
  const lines = [filters];
  const verb = misnamed === 1 ? "has" : "have";
  if (misnamed > 0)
    lines.push(
      `${misnamed} of ${all} ${verb} no legal name for a Kafka topic: matching events become dead letters`,
    );
  if (unmet !== undefined && sample !== undefined)
    lines.push(`${formatCount(unmet, "condition")} met by none of ${formatSample(sample)}`);
  return lines;
}
