import { exitCodes, RejectionError, UnavailableError } from "@topicsync/lib/errors";
import { tryReadConditions } from "@topicsync/filters";
import { findingKinds, type Finding, type FindingKind } from "../../../topics/finding.ts";
import { TopicAnalysis, type AnalysisOptions } from "../../../topics/findings.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import { findDefinitions, readTopics, warnInvalidFilters } from "../../client/topics.ts";
import type { JsonFlag } from "../../input/options.ts";
import type { ServerFlag } from "../../input/server.ts";
import { formatCount } from "../../output/format.ts";
import { printItems } from "../../output/items.ts";
import { printError, printLine, sanitize } from "../../output/output.ts";
import { createLongProgress, type Progress } from "../../output/progress.ts";

export interface AnalyzeFlags extends JsonFlag, ServerFlag {
  readonly kind?: readonly FindingKind[];
  readonly failOn?: readonly FindingKind[];
}

/** With fewer different filters there is no progress bar. */
const minComparisonProgress = 10_000;

const columns = [{ head: "kind", width: 12 }, { head: "external id" }, { head: "finding" }];

/** Prints findings as they are found: all of them, or those that concern one topic. */
export async function analyze(
  client: OperationClient,
  externalId: string | undefined,
  { json, kind = findingKinds, failOn = [] }: AnalyzeFlags,
): Promise<void> {
  const about = externalId === undefined ? undefined : await findAnalyzed(client, externalId);
  let comparing: Progress | undefined;
  const analysis = new TopicAnalysis(readTopics(client, {}, { showsCount: true }), {
    kinds: [...kind, ...failOn],
    about,
    onCompared(count, total) {
      if (client.abort.aborted) throw new UnavailableError("stopped before all topics were analyzed");
      comparing ??= createLongProgress("comparing filters", total, minComparisonProgress);
      comparing.at(count);
    },
  });
  const counts = new Map<FindingKind, number>();
  async function* find(): AsyncGenerator<Finding> {
    for await (const finding of analysis.run()) {
      counts.set(finding.kind, (counts.get(finding.kind) ?? 0) + 1);
      // Rows and a progress bar would overwrite each other on a terminal.
      if (process.stdout.isTTY) comparing?.end("first finding");
      yield finding;
    }
  }
  const { abort } = client;
  if ((await printItems(find(), { json: json === true, columns, toRow, abort })) === undefined) return;
  comparing?.end("compared all filters");
  warnInvalidFilters(analysis.invalid);
  warnUncompared(analysis);
  if (failOn.some((one) => counts.has(one))) process.exitCode = exitCodes.rejected;
  if (!json) printLine(summarize(analysis.topics, counts));
}

/** Throws an error for an unknown or inactive topic, and for one with invalid filters. */
async function findAnalyzed(
  client: OperationClient,
  externalId: string,
): Promise<NonNullable<AnalysisOptions["about"]>> {
  const found = (await findDefinitions(client, [externalId])).get(externalId);
  if (found === undefined) throw new Error(`there is no active topic with the external id "${externalId}"`);
  const conditions = tryReadConditions(found);
  if (conditions === undefined)
    throw new RejectionError(
      "BAD_FILTER",
      `The filters of "${externalId}" are invalid; \`topicsync filters check\` says why.`,
      [],
    );
  return { externalId, conditions };
}

const toRow = (finding: Finding): string[] => toCells(finding).map(sanitize);

function toCells(finding: Finding): string[] {
  switch (finding.kind) {
    case "everything":
      return [finding.kind, finding.externalId, "every event matches"];
    case "impossible":
      return [finding.kind, finding.externalId, `no event matches: ${finding.conditions.join(" and ")}`];
    case "list-only":
      return [finding.kind, finding.externalId, `matches lists only: ${finding.conditions.join(" and ")}`];
    case "contained":
      return [finding.kind, finding.externalId, `all events are also in ${list(finding.in, finding.total)}`];
    case "same": {
      const [first = "", ...others] = finding.externalIds;
      return [finding.kind, first, `same events as ${list(others, finding.total - 1)}`];
    }
  }
}

const list = (externalIds: readonly string[], total: number): string =>
  externalIds.join(", ") + (total > externalIds.length ? ` and ${total - externalIds.length} more` : "");

function warnUncompared({ uncompared }: TopicAnalysis): void {
  if (uncompared === 0) return;
  const topics = formatCount(uncompared, "topic");
  printError(`warning: ${topics} could not be compared: no event was found that matches the filters`);
}

function summarize(topics: number, counts: ReadonlyMap<FindingKind, number>): string {
  const found = findingKinds.flatMap((kind) => (counts.has(kind) ? `${counts.get(kind)} ${kind}` : []));
  return `${formatCount(topics, "topic")}: ${found.length === 0 ? "no findings" : found.join(", ")}`;
}
