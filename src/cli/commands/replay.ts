import { Option, type Command } from "commander";

import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { UnavailableError } from "@topicsync/lib/errors";
import {
  deadLetterChannels,
  type DeadLetterItem,
  type DeadLetterList,
} from "../../../schemas/dead-letters/dead-letter.ts";
import type { ReplayResult } from "../../../schemas/dead-letters/replay.ts";
import { deadLetterCodes } from "../../dead-letters/dead-letter.ts";
import { compareOrder } from "../../dead-letters/replay-plan.ts";
import { listDeadLetters, replayDeadLetters } from "../../operations/dead-letters.ts";
import { runWithClient } from "../client/client.ts";
import { addQuery, type Query } from "../client/command.ts";
import type { MemberOverrides } from "../client/members.ts";
import { readPages, type OperationClient } from "../client/operation-client.ts";
import { isConfirmed, requireTerminal, type ConfirmFlags } from "../input/confirm.ts";
import { parseTimeAgo } from "../input/options.ts";
import { serverOption, type ServerFlag } from "../input/server.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

/** The options that filter dead letters. */
export const filterMembers = (): MemberOverrides => ({
  channel: new Option("--channel <channel>", "what was rejected; default: announcements").choices(
    deadLetterChannels,
  ),
  code: new Option("--code <code...>", "only with one of these codes").choices(deadLetterCodes),
  from: new Option(
    "--newer-than <duration>",
    "only records written within this time: 45s, 30m, 2h, 7d",
  ).argParser(parseTimeAgo),
  to: new Option("--older-than <duration>", "only records older than this").argParser(parseTimeAgo),
});

/** Reads all pages, newest first. Throws UnavailableError at the end if the service has not read all yet. */
export async function* readLetterPages(
  client: OperationClient,
  query: Query,
): AsyncGenerator<DeadLetterList> {
  let unlisted = 0;
  const request = { query: { ...query, limit: 1_000 } };
  for await (const page of readPages<DeadLetterList>(client, listDeadLetters, request)) {
    ({ unlisted } = page);
    yield page;
  }
  if (unlisted > 0)
    throw new UnavailableError(`about ${unlisted} more are still being read: try again later`);
}

interface ReplayFlags extends ConfirmFlags {
  readonly again?: true;
  readonly force?: true;
}

export function defineReplay(deadLetters: Command): void {
  const command = deadLetters
    .command("replay")
    .description("send dead letters back to the topic they came from")
    .argument("[id...]", "only these dead letters");
  const readFilter = addQuery(command, listDeadLetters, {
    members: filterMembers(),
    only: ["channel", "code", "from", "to"],
  });
  command
    .option("--all", "all dead letters")
    .option("--again", "also those that were replayed before")
    .option("--force", "also those whose topic was announced or retired later, overwriting that")
    .option("--dry-run", "print what would be sent, and send nothing")
    .option("--yes", "do not ask for confirmation")
    .option(...serverOption)
    .action((ids: string[], { all, ...flags }: ReplayFlags & ServerFlag & { readonly all?: true }) => {
      const filter = readFilter();
      const isFiltered = Object.keys(filter).some((name) => name !== "channel");
      const selections = [ids.length > 0, isFiltered, all].filter(Boolean).length;
      if (selections === 0)
        command.error("error: select dead letters by id, --code, --newer-than or --older-than, or use --all");
      if (selections > 1) command.error("error: ids, a filter and --all cannot be combined");
      requireTerminal(command, flags);
      return runWithClient(flags, (client) => replay(client, { ids, filter, ...flags }));
    });
}

interface Selection extends ReplayFlags {
  readonly ids: readonly string[];
  /** What is replayed without ids. */
  readonly filter: Query;
}

/** Prints what is skipped, asks and sends. Throws UnavailableError, and an Error for an unknown id. */
async function replay(
  client: OperationClient,
  { ids, filter, again, force, dryRun, yes }: Selection,
): Promise<void> {
  const body = { channel: filter["channel"], again, force };
  // A single request puts ids in order that are given in any order.
  const wanted = ids.length > 0 ? [ids] : splitIntoBatches(await findIds(client, filter), idsPerRequest);
  const plan = createResult();
  await send(client, wanted, { ...body, dryRun: true }, plan);
  const missing = plan.skipped.filter(({ reason }) => reason === "missing").map(({ id }) => id);
  if (ids.length > 0 && missing.length > 0)
    throw new Error(`there is no dead letter ${missing.join(", ")}; nothing was sent`);
  await printSkipped(plan);
  const count = plan.sent.length;
  const planned = formatCount(count, "dead letter");
  if (count === 0) printLine("Nothing to send.");
  else if (dryRun) printLine(`${planned} would be sent to ${plan.topic}.`);
  else if (!yes && !(await isConfirmed(`Send ${planned} to ${plan.topic}?`))) printLine("Nothing was sent.");
  else {
    const progress = createProgress("replaying", count);
    const result = createResult();
    try {
      await send(client, splitIntoBatches(plan.sent, idsPerRequest), body, result, (done) => {
        progress.at(done);
      });
      progress.end(`sent ${result.sent.length} of ${planned} to ${plan.topic}`);
    } catch (error) {
      const next = again ? "repeating the command sends them again" : "repeat the command to send the others";
      if (error instanceof Error)
        error.message = `${result.sent.length} of ${planned} were sent (${next}), then: ${error.message}`;
      throw error;
    } finally {
      await printSkipped(result);
    }
  }
}

/** The ids of the filter, in the original order of each partition. */
async function findIds(client: OperationClient, filter: Query): Promise<readonly string[]> {
  const found: Pick<DeadLetterItem, "id" | "source">[] = [];
  for await (const { deadLetters } of readLetterPages(client, filter))
    found.push(...deadLetters.map(({ id, source }) => ({ id, source })));
  // Those without a source keep the order of the dead-letter topic, because the sort is stable.
  const none = { offset: -1 };
  return found
    .toReversed()
    .toSorted((a, b) => compareOrder(a.source ?? none, b.source ?? none))
    .map(({ id }) => id);
}

/** Ids of 300 characters fit into a body of 100 kB. */
const idsPerRequest = 300;

const createResult = (): ReplayResult => ({ topic: "", sent: [], skipped: [] });

/** Sends one request after another, and adds their results to `all`. Throws UnavailableError. */
async function send(
  client: OperationClient,
  wanted: readonly (readonly string[])[],
  body: object,
  all: ReplayResult,
  onProgress?: (done: number) => void,
): Promise<void> {
  for (const ids of wanted) {
    if (client.abort.aborted) throw new UnavailableError("stopped");
    const { json } = await client.call<ReplayResult>(replayDeadLetters, { body: { ...body, ids } });
    all.topic = json.topic;
    all.sent.push(...json.sent);
    all.skipped.push(...json.skipped);
    const interrupted = json.skipped.find(({ reason }) => reason === "interrupted");
    if (interrupted !== undefined) throw new UnavailableError(interrupted.message);
    onProgress?.(all.sent.length + all.skipped.length);
  }
}

async function printSkipped({ skipped }: ReplayResult): Promise<void> {
  if (skipped.length === 0) return;
  const table = await createTableWriter(openOutput(), [{ head: "not sent" }, { head: "reason" }]);
  for (const { id, message } of skipped) await table.add([sanitize(id), sanitize(message)]);
  await table.end();
}
