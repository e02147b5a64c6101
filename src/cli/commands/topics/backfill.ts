import type { Command } from "commander";

import { exitCodes } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import {
  newBackfillSchema,
  type BackfillPreview,
  type BackfillView,
  type NewBackfillBody,
} from "../../../../schemas/backfill.ts";
import { createBackfill, getBackfill } from "../../../operations/backfills.ts";
import { runWithClient } from "../../client/client.ts";
import { addOptions, listMembers } from "../../client/members.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import type { JsonFlag } from "../../input/options.ts";
import { serverOption, type ServerFlag } from "../../input/server.ts";
import { formatBackfill } from "../../output/backfill-text.ts";
import { formatCount } from "../../output/format.ts";
import { printError, printJson, printLine, sanitize } from "../../output/output.ts";
import { createLongProgress, type Progress } from "../../output/progress.ts";

interface BackfillFlags extends JsonFlag, ServerFlag {
  readonly wait: boolean;
}

const pollMs = 1_000;

/** Defines `topicsync topics backfill`. */
export function addBackfillCommand(topics: Command): void {
  const command = topics
    .command("backfill")
    .description("forward past events to a topic that lacks them: one that was created or changed later")
    .argument("<external-id>", "its external id, or its sys_id");
  const readBody = addOptions(command, listMembers(newBackfillSchema));
  command
    .option("--no-wait", "do not wait for its end")
    .option("--json", "print JSON")
    .option(...serverOption)
    .action((externalId: string, flags: BackfillFlags) =>
      runWithClient(flags, (client) =>
        requestBackfill(client, externalId, readBody() as NewBackfillBody, flags),
      ),
    );
}

async function requestBackfill(
  client: OperationClient,
  externalId: string,
  body: NewBackfillBody,
  { wait, json }: BackfillFlags,
): Promise<void> {
  const request = { parameters: { externalId }, body };
  if (body.dryRun === true) {
    const { json: preview } = await client.call<BackfillPreview>(createBackfill, request);
    if (json) printJson(preview);
    else printLine(formatPreview(preview));
    return;
  }
  const { json: requested } = await client.call<BackfillView>(createBackfill, request);
  const backfill = wait ? await waitForEnd(client, requested) : requested;
  if (json) printJson(backfill);
  else for (const line of formatBackfill(backfill)) printLine(sanitize(line));
  if (backfill.state === "failed") process.exitCode = exitCodes.failure;
}

const formatPreview = ({ offsets, read, matched }: BackfillPreview): string =>
  `${formatCount(matched, "event")} of ${read < offsets ? `the last ${read} of ` : ""}${formatCount(offsets, "offset")} match the topic.`;

const isOver = ({ state }: BackfillView): boolean => state !== "waiting" && state !== "running";

/** Shows the progress. Ctrl-C ends the command, and not the backfill. */
async function waitForEnd(client: OperationClient, requested: BackfillView): Promise<BackfillView> {
  const { id } = requested;
  let backfill = requested;
  let progress: Progress | undefined;
  printError(`The backfill ${id} is ${backfill.state}. An instance of the service runs it.`);
  try {
    while (!isOver(backfill)) {
      await sleep(pollMs, client.abort);
      ({ json: backfill } = await client.call<BackfillView>(getBackfill, { parameters: { id } }));
      if (backfill.offsets === 0) continue;
      progress ??= createLongProgress("backfilling", backfill.offsets, 1);
      progress.at(backfill.done);
    }
  } catch (error) {
    if (!client.abort.aborted) throw error;
    printError(`The backfill goes on. To cancel it: topicsync backfills cancel ${id}`);
    process.exitCode = exitCodes.failure;
  }
  progress?.end(`${backfill.done} of ${formatCount(backfill.offsets, "offset")}`);
  return backfill;
}
