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

/** What is wrong with a stored topic. */
interface TopicFault {
  /**
   * `unforwardable`: no Kafka topic can have the name. `unmet`: a condition that none of the last events
   * meets.
   */
  readonly kind: "invalid" | "unforwardable" | "unmet";
  readonly topic: TopicView;
  /** As a row says it. */
  readonly member: string;
  readonly text: string;
  /** As JSON says it. */
  readonly json: object;
}

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
    ...(warnings.get(topic) ?? []).map(({ message, ...warning }) => ({
      ...({ kind: "unmet", topic, member: warning.filter, text: sanitize(message) } as const),
      json: { ...warning, problem: message },
    })),
  ]);
}

const findInvalidFilters = (topic: TopicView): TopicFault[] =>
  findFilterErrors(topic).flatMap((error) => {
    const { member, problem, position } = error;
    if (member === undefined) return [];
    const text = topic[member];
    return [
      {
        ...({ kind: "invalid", topic, member, text: formatFilterError(text, error).join("\n") } as const),
        json: { code: "BAD_FILTER", filter: member, text, problem, position },
      },
    ];
  });

function findBadEgressName(topic: TopicView): TopicFault[] {
  const { egressTopic = "", egressFault: problem } = topic;
  if (problem === undefined) return [];
  const json = { code: "BAD_EGRESS_NAME", egressTopic, problem };
  return [{ kind: "unforwardable", topic, member: "kafka topic", text: sanitize(problem), json }];
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
      const { invalid = [], unforwardable = [], unmet = [] } = Object.groupBy(faults, ({ kind }) => kind);
      checked.faulty += new Set(invalid.map(({ topic }) => topic)).size;
      checked.misnamed += unforwardable.length;
      checked.unmet += unmet.length;
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

const toRow = ({ topic, member, text }: TopicFault): string[] => [
  ...[topic.externalId, topic.name].map(sanitize),
  ...[member, text],
];

const toJson = ({ topic: { externalId, name, namespace, id }, json }: TopicFault): object => ({
  ...{ externalId, name, namespace, id },
  ...json,
});

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
