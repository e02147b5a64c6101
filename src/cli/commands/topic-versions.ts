import { topicBodySchema, type TopicBody } from "../../../schemas/topic.ts";
import type { Services } from "../../service/services.ts";
import { RejectionError, formatFaults } from "../../lib/errors.ts";
import { createValidator } from "../../lib/validation.ts";
import { requireUnmanaged } from "../../plans/guard.ts";
import { addDetails } from "../../topics/details-search.ts";
import { UnknownTopicError } from "../../topics/definition-change.ts";
import { readHistoryPage, type TopicVersion } from "../../topics/history.ts";
import { changeTopic, type ChangeResult } from "../../topics/changing.ts";
import { restoreTopic } from "../../topics/restoring.ts";
import { toEntryView, toTopicDetail } from "../../topics/topic-view.ts";
import { toDefinition } from "../../topics/topic.ts";
import { getCommandLineUser, type CommandContext } from "../context.ts";
import type { ForceFlag, JsonFlag } from "../input/options.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printError, printJson, printLine, sanitize } from "../output/output.ts";
import { createTableWriter } from "../output/table.ts";
import { compareVersions, formatDifference, toVersionRow, versionColumns } from "../output/version-view.ts";
import { createUnknownTopicError } from "./topic-changes.ts";

export interface ChangeFlags {
  /** Undefined: nothing is changed, and the error names the version. */
  readonly ifVersion?: number;
  readonly name?: string;
  readonly namespace?: string;
  readonly headerQuery?: string;
  readonly contentQuery?: string;
  readonly renameTo?: string;
}

export interface HistoryFlags extends JsonFlag {
  readonly limit?: number;
}

export interface DiffFlags extends JsonFlag {
  readonly from?: number;
  readonly to?: number;
}

export interface RestoreFlags {
  readonly version: number;
  readonly ifVersion?: number;
}

const checkTopic = createValidator<TopicBody>(topicBodySchema);

export const isEmptyChange = ({
  name,
  namespace,
  headerQuery,
  contentQuery,
  renameTo,
}: ChangeFlags): boolean =>
  [name, namespace, headerQuery, contentQuery, renameTo].every((flag) => flag === undefined);

/** Changes a topic that has the version in the flags. Throws the reason why it cannot be changed. */
export async function changeDefinition(
  { services, audit }: CommandContext,
  externalId: string,
  { ifVersion, renameTo, json, force, ...flags }: ChangeFlags & ForceFlag,
): Promise<void> {
  const record = audit();
  const { topics, topicReader, topicDetails } = await services();
  const found = await topicReader.find(externalId);
  if (found === undefined) throw createUnknownTopicError(externalId);
  if (ifVersion === undefined) {
    const { version } = found.topic;
    const message = `The topic has version ${version}. If that is what you change, add --if-version ${version}.`;
    throw new RejectionError("SCHEMA_VIOLATION", message);
  }
  const mark = await requireUnmanaged(topicDetails, [externalId], {
    force: force === true,
    canSee: () => true,
  });
  const { name, namespace, headerQuery, contentQuery } = found.topic;
  const body = { externalId: renameTo ?? externalId, name, namespace, headerQuery, contentQuery, ...flags };
  const checked = checkTopic(body);
  if (!checked.ok)
    throw new RejectionError("SCHEMA_VIOLATION", formatFaults(checked.faults, "The topic"), checked.faults);
  const expected = { version: ifVersion, definition: found.topic };
  const definition = toDefinition(checked.value);
  const result = await changeTopic(
    topics,
    { kind: "change", externalId, expected, definition },
    { user: getCommandLineUser() },
  );
  for (const event of result.events) record(mark(event));
  await print(topicDetails, result, { json, action: "changed" });
}

/** See `restoreTopic`. */
export async function restoreVersion(
  { services, audit }: CommandContext,
  externalId: string,
  { version, ifVersion, json, force }: RestoreFlags & ForceFlag,
): Promise<void> {
  const record = audit();
  const expected = ifVersion === undefined ? undefined : { version: ifVersion };
  const options = { user: getCommandLineUser() };
  const connected = await services();
  const mark = await requireUnmanaged(connected.topicDetails, [externalId], {
    force: force === true,
    canSee: () => true,
  });
  const result = await restoreTopic(
    connected,
    { externalId, version, expected, canSee: () => true, checkDefinition: undefined },
    options,
  ).catch((error: unknown) => {
    throw error instanceof UnknownTopicError ? createUnknownTopicError(externalId) : error;
  });
  for (const event of result.events) record(mark(event));
  await print(connected.topicDetails, result, { json, action: "restored" });
}

async function print(
  topicDetails: Services["topicDetails"],
  { topic, changed }: ChangeResult,
  { json, action }: JsonFlag & { readonly action: string },
): Promise<void> {
  const [shown = { topic }] = await addDetails(topicDetails, [{ topic }], "all");
  if (json) printJson(toTopicDetail(shown));
  else {
    const what = changed ? action : "unchanged:";
    printLine(sanitize(`${what} ${topic.externalId} (${topic.name}), version ${topic.version}`));
  }
}

const defaultRowLimit = 100;
const versionsPerPage = 500;

/** Prints the versions of an external id while they are read. */
export async function showHistory(
  { services }: CommandContext,
  externalId: string,
  { json, limit = json ? Infinity : defaultRowLimit }: HistoryFlags,
): Promise<void> {
  const { topicHistory } = await services();
  const output = openOutput();
  const table = json ? undefined : await createTableWriter(output, versionColumns);
  let [count, hasMore] = [0, false];
  for (let after: string | undefined; ;) {
    const page = await readHistoryPage(topicHistory, externalId, {
      namespaces: "all",
      after,
      limit: Math.min(versionsPerPage, limit - count),
    });
    for (const entry of page.entries) {
      const view = toEntryView(entry);
      const isOpen =
        table === undefined
          ? await output.write(`${JSON.stringify(view)}\n`)
          : await table.add(toVersionRow(view));
      if (!isOpen) return;
    }
    count += page.entries.length;
    after = page.next;
    hasMore = after !== undefined;
    if (!hasMore || count >= limit) break;
  }
  if (count === 0) throw createUnknownTopicError(externalId);
  await table?.end();
  if (hasMore) printError(`Only the last ${formatCount(count, "version")} are shown; use --limit.`);
}

/** Prints what is different in two versions of a topic. */
export async function diffVersions(
  { services }: CommandContext,
  externalId: string,
  { from, to, json }: DiffFlags,
): Promise<void> {
  const { topicReader, topicHistory } = await services();
  const found = await topicReader.find(externalId);
  if (found === undefined) throw createUnknownTopicError(externalId);
  async function find(version: number): Promise<TopicVersion> {
    const one = await topicHistory.findVersion(externalId, version);
    if (one !== undefined) return one;
    throw new Error(
      `the history of the topic "${externalId}" has no version ${version}; its last one is ${found?.topic.version ?? 0}`,
    );
  }
  const newer = to ?? found.topic.version;
  if (from === undefined && newer === 1)
    throw new Error(`the topic "${externalId}" has no version before 1; --from and --to name versions`);
  const difference = compareVersions(await find(from ?? newer - 1), await find(newer));
  if (json) printJson(difference);
  else process.stdout.write(formatDifference(difference));
}
