import type { Command } from "commander";

import { collectBatches } from "@topicsync/lib/concurrency/batches";
import { ConfigurationError, exitCodes } from "@topicsync/lib/errors";
import {
  canonicalize,
  FilterSyntaxError,
  mergeEquals,
  type Filter,
  type FilterMember,
  parseFilter,
  printFilter,
  findFilterErrors,
  describeFilter,
} from "@topicsync/filters";
import type { EventTypeList } from "../../../schemas/event-types.ts";
import type { FilterWarning } from "../../../schemas/topics/check.ts";
import { maxLookUpDefinitions, type TopicLookUpReply } from "../../../schemas/topics/sets.ts";
import type { TopicView } from "../../../schemas/topics/view.ts";
import { listEventTypes } from "../../operations/event-types.ts";
import { lookUpTopics } from "../../operations/topic-sets.ts";
import { runWithClient } from "../client/client.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { readTopics } from "../client/topics.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { formatFilterError } from "../output/caret.ts";
import { formatCount } from "../output/format.ts";
import { printItems } from "../output/items.ts";
import { printError, printLine, sanitize } from "../output/output.ts";

interface Flags {
  readonly json?: true;
}

interface ExplainFlags extends Flags {
  readonly contentQuery?: true;
}

interface CheckFlags extends Flags, ServerFlag {
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
    .option(...serverOption)
    .action((flags: CheckFlags) => runWithClient(flags, (client) => check(client, flags)));
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
  readonly topic: TopicView;
  readonly filter: FilterMember;
  readonly error: FilterSyntaxError;
}

/** A stored topic whose events cannot be forwarded: no Kafka topic can have the name. */
interface BadEgressName {
  readonly topic: TopicView;
  readonly egressTopic: string;
  readonly egressFault: string;
}

/** A condition that none of the last events meets. */
interface UnmetCondition {
  readonly topic: TopicView;
  readonly warning: FilterWarning;
}

type TopicFault = InvalidFilter | BadEgressName | UnmetCondition;

const findInvalidFilters = (topic: TopicView): InvalidFilter[] =>
  findFilterErrors(topic).flatMap((error) =>
    error.member === undefined ? [] : [{ topic, filter: error.member, error }],
  );

const findBadEgressName = (topic: TopicView): BadEgressName[] => {
  const { egressTopic = "", egressFault } = topic;
  return egressFault === undefined ? [] : [{ topic, egressTopic, egressFault }];
};

/** Finds what is wrong with each of some topics; with conditions that none of the last events meets. */
async function findFaults(
  topics: readonly TopicView[],
  client: OperationClient,
  againstEvents: boolean,
): Promise<TopicFault[]> {
  const valid = againstEvents ? topics.filter((topic) => findInvalidFilters(topic).length === 0) : [];
  const warnings = await findWarnings(valid, client);
  return topics.flatMap((topic) => [
    ...findInvalidFilters(topic),
    ...findBadEgressName(topic),
    ...(warnings.get(topic) ?? []).map((warning) => ({ topic, warning })),
  ]);
}

async function findWarnings(
  topics: readonly TopicView[],
  client: OperationClient,
): Promise<ReadonlyMap<TopicView, readonly FilterWarning[]>> {
  if (topics.length === 0) return new Map();
  // Only filters are compared; other members of an old topic may be too long.
  const definitions = topics.map(({ headerQuery, contentQuery }) => ({
    ...{ externalId: "-", name: "-", headerQuery, contentQuery },
  }));
  const { json } = await client.call<TopicLookUpReply>(lookUpTopics, { body: { definitions } });
  return new Map(topics.map((topic, at) => [topic, json.warnings[at] ?? []]));
}

interface Checked {
  topics: number;
  /** Those with invalid filters. */
  faulty: number;
  misnamed: number;
  /** Conditions that none of the last events meets. */
  unmet: number;
}

async function check(client: OperationClient, { json, againstEvents }: CheckFlags): Promise<void> {
  const sample = againstEvents ? await describeSample(client) : undefined;
  const checked: Checked = { topics: 0, faulty: 0, misnamed: 0, unmet: 0 };
  async function* readFaults(): AsyncGenerator<TopicFault> {
    const all = readTopics(client, {}, { showsCount: true });
    for await (const topics of collectBatches(all, maxLookUpDefinitions)) {
      const faults = await findFaults(topics, client, sample !== undefined);
      checked.topics += topics.length;
      checked.faulty += new Set(faults.flatMap((one) => ("error" in one ? [one.topic] : []))).size;
      checked.misnamed += faults.filter((one) => "egressFault" in one).length;
      checked.unmet += faults.filter((one) => "warning" in one).length;
      yield* faults;
    }
  }
  const { abort } = client;
  const printed = await printItems(readFaults(), { json, columns, toRow, toJson, abort });
  if (printed === undefined) return;
  if (checked.faulty + checked.misnamed > 0) process.exitCode = exitCodes.rejected;
  if (!json) for (const line of summarize(checked, sample)) printLine(line);
}

/** Throws a ConfigurationError if no events are read. */
async function describeSample(client: OperationClient): Promise<string> {
  const { sample, reason } = (await client.call<EventTypeList>(listEventTypes)).json;
  if (sample === undefined) throw new ConfigurationError(reason ?? "No events are read.");
  return `the last ${formatCount(sample.events, "event")}`;
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
  const { externalId, name, namespace, id, ...filters } = fault.topic;
  const topic = { externalId, name, namespace, id };
  if ("egressFault" in fault) {
    const { egressTopic, egressFault } = fault;
    return { ...topic, code: "BAD_EGRESS_NAME", egressTopic, problem: egressFault };
  }
  if ("warning" in fault) {
    const { message, ...warning } = fault.warning;
    return { ...topic, ...warning, problem: message };
  }
  const { filter, error } = fault;
  const { problem, position } = error;
  return { ...topic, code: "BAD_FILTER", filter, text: filters[filter], problem, position };
}

function summarize({ topics, faulty, misnamed, unmet }: Checked, sample: string | undefined): string[] {
  const all = formatCount(topics, "topic");
  const lines = [
    faulty === 0
      ? `${all}, all filters are valid`
      : `${faulty} of ${all} ${faulty === 1 ? "has an invalid filter and matches" : "have invalid filters and match"} no event`,
  ];
  if (misnamed > 0)
    lines.push(
      `${misnamed} of ${all} ${misnamed === 1 ? "has" : "have"} no legal name for a Kafka topic: matching events become dead letters`,
    );
  if (sample !== undefined) lines.push(`${formatCount(unmet, "condition")} met by none of ${sample}`);
  return lines;
}
