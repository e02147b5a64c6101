import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import { UnavailableError } from "@topicsync/lib/errors";
import type { DeadLetterItem } from "../../../schemas/dead-letters/dead-letter.ts";
import type { ReplayResult } from "../../../schemas/dead-letters/replay.ts";
import { compareOrder } from "../../dead-letters/replay-plan.ts";
import { replayDeadLetters } from "../../operations/dead-letters.ts";
import type { OperationClient } from "../client/operation-client.ts";
import { isConfirmed } from "../input/confirm.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, printLine, sanitize } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";
import { readPages, toQuery, type FilterFlags } from "./dead-letter-query.ts";

export interface ReplayFlags extends FilterFlags {
  readonly again?: true;
  readonly force?: true;
  readonly dryRun?: true;
  readonly yes?: true;
}

/**
 * Replays the dead letters with these ids, without ids those of the filter: prints what is skipped, asks and
 * sends. Throws UnavailableError, and an Error for an unknown id.
 */
export async function replay(
  client: OperationClient,
  ids: readonly string[],
  { again, force, dryRun, yes, ...filter }: ReplayFlags,
): Promise<void> {
  const body = { channel: filter.channel, again, force };
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
async function findIds(client: OperationClient, filter: FilterFlags): Promise<readonly string[]> {
  const found: Pick<DeadLetterItem, "id" | "source">[] = [];
  for await (const { deadLetters } of readPages(client, toQuery(filter)))
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
