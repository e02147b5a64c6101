import { exitCodes } from "@topicsync/lib/errors";
import type { DescriptionView, VersionList, VersionView } from "../../../../schemas/topics/versions.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { putTopic } from "../../../operations/topic-changes.ts";
import { getTopic, listVersions } from "../../../operations/topic-versions.ts";
import { runWithClient } from "../../client/client.ts";
import { readPages, type OperationClient } from "../../client/operation-client.ts";
import type { ServerFlag } from "../../input/server.ts";
import type { ForceFlag, JsonFlag } from "../../input/options.ts";
import { formatCount } from "../../output/format.ts";
import { printItems } from "../../output/items.ts";
import { printError, printJson, printLine, sanitize } from "../../output/output.ts";
import {
  compareVersions,
  formatDifference,
  toVersionRow,
  versionColumns,
} from "../../output/version-view.ts";

export interface ChangeFlags extends ForceFlag, ServerFlag {
  /** Undefined: nothing is changed, and the error names the version. */
  readonly ifVersion?: number;
  readonly name?: string;
  readonly namespace?: string;
  readonly headerQuery?: string;
  readonly contentQuery?: string;
  readonly renameTo?: string;
}

export interface HistoryFlags extends JsonFlag, ServerFlag {
  readonly limit?: number;
}

export interface DiffFlags extends JsonFlag, ServerFlag {
  readonly from?: number;
  readonly to?: number;
}

/** Changes a topic that has the version in the flags. Throws the reason why it cannot be changed. */
export async function changeDefinition(
  externalId: string,
  { ifVersion, renameTo, json, force, server, ...flags }: ChangeFlags,
): Promise<void> {
  const result = await runWithClient({ server }, async (client) => {
    const found = (await client.call<TopicDetail>(getTopic, { parameters: { id: externalId } })).json;
    const { name, namespace, headerQuery, contentQuery, version } = found;
    if (ifVersion === undefined) {
      printError(
        `The topic has version ${version}. If that is what you change, add --if-version ${version}.`,
      );
      process.exitCode = exitCodes.rejected;
      return undefined;
    }
    const { json: changed, warnings } = await client.call<TopicDetail>(putTopic, {
      parameters: { id: externalId },
      query: { force },
      body: { externalId: renameTo ?? externalId, name, namespace, headerQuery, contentQuery, ...flags },
      ifMatch: ifVersion,
    });
    for (const warning of warnings) printError(sanitize(`warning: ${warning}`));
    return { topic: changed, what: changed.version === version ? "unchanged:" : "changed" };
  });
  if (result === undefined) return;
  const { topic, what } = result;
  if (json) printJson(topic);
  else printLine(sanitize(`${what} ${topic.externalId} (${topic.name}), version ${topic.version}`));
}

const defaultRowLimit = 100;
const versionsPerPage = 500;

/** Prints the versions of an external id while they are read. */
export async function showHistory(externalId: string, { server, ...flags }: HistoryFlags): Promise<void> {
  const json = flags.json === true;
  const limit = flags.limit ?? (json ? undefined : defaultRowLimit);
  const printed = await runWithClient({ server }, (client) =>
    printItems(readVersions(client, externalId, (limit ?? versionsPerPage) + 1), {
      ...{ json, columns: versionColumns, toRow: toVersionRow, limit, abort: client.abort },
    }),
  );
  if (printed?.hasMore)
    printError(`Only the last ${formatCount(printed.count, "version")} are shown; use --limit.`);
}

/** Reads the versions of a topic and of its details, the latest first. */
async function* readVersions(
  client: OperationClient,
  id: string,
  wanted = Infinity,
): AsyncGenerator<VersionView | DescriptionView> {
  const request = { parameters: { id }, query: { limit: Math.min(versionsPerPage, wanted) } };
  for await (const { versions } of readPages<VersionList>(client, listVersions, request)) yield* versions;
}

/** Prints what is different in two versions of a topic. */
export async function diffVersions(externalId: string, { from, to, json, server }: DiffFlags): Promise<void> {
  const difference = await runWithClient({ server }, async (client) => {
    const last = (await client.call<TopicDetail>(getTopic, { parameters: { id: externalId } })).json.version;
    const newest = to ?? last;
    if (from === undefined && newest === 1)
      throw new Error(`the topic "${externalId}" has no version before 1; --from and --to name versions`);
    const get = await findVersions(client, externalId, [from ?? newest - 1, newest]);
    return compareVersions(get(from ?? newest - 1), get(newest));
  });
  if (json) printJson(difference);
  else process.stdout.write(formatDifference(difference));
}

/** Reads versions of a definition. The function returned throws an error for one that the history lacks. */
async function findVersions(
  client: OperationClient,
  externalId: string,
  wanted: readonly number[],
): Promise<(version: number) => VersionView> {
  const found = new Map<number, VersionView>();
  for await (const view of readVersions(client, externalId)) {
    if ("action" in view || found.has(view.version)) continue;
    found.set(view.version, view);
    if (wanted.every((version) => found.has(version))) break;
  }
  return (version) => {
    const view = found.get(version);
    if (view !== undefined) return view;
    const last = Math.max(...found.keys());
    throw new Error(
      `the history of the topic "${externalId}" has no version ${version}; its last one is ${last}`,
    );
  };
}
