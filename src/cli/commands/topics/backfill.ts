import type { Command } from "commander";

import { exitCodes, UnavailableError } from "@topicsync/lib/errors";
import { sleep } from "@topicsync/lib/platform";
import { newBackfillSchema, type BackfillView, type NewBackfillBody } from "../../../../schemas/backfill.ts";
import type { TopicDetail } from "../../../../schemas/topics/view.ts";
import { createBackfill, getBackfill } from "../../../operations/backfills.ts";
import { getTopic } from "../../../operations/topic-versions.ts";
import { toDefinition } from "../../../topics/topic.ts";
import { runWithClient } from "../../client/client.ts";
import { addOptions, listMembers } from "../../client/members.ts";
import type { OperationClient } from "../../client/operation-client.ts";
import type { JsonFlag } from "../../input/options.ts";
import { serverOption, type ServerFlag } from "../../input/server.ts";
import { formatBackfill } from "../../output/backfill-text.ts";
import { formatCount } from "../../output/format.ts";
import { printError, printJson, printLine, sanitize } from "../../output/output.ts";
import { createLongProgress, type Progress } from "../../output/progress.ts";
import { previewChanges, type PreviewPlace } from "./impact-preview.ts";

interface BackfillFlags extends JsonFlag, ServerFlag {
  readonly dryRun?: true;
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
    .option("--dry-run", "count the events that match, and forward nothing")
    .option("--no-wait", "do not wait for its end")
    .option("--json", "print JSON")
    .option(...serverOption)
    .action((externalId: string, flags: BackfillFlags) =>
      runWithClient(flags, (client, context) => {
        const body = readBody() as unknown as NewBackfillBody;
        return flags.dryRun
          ? countEvents({ client, context }, externalId, body, flags)
          : requestBackfill(client, externalId, body, flags);
      }),
    );
}

async function requestBackfill(
  client: OperationClient,
  externalId: string,
  body: NewBackfillBody,
  { wait, json }: BackfillFlags,
): Promise<void> {
  const request = { parameters: { externalId }, body };
  const { json: requested } = await client.call<BackfillView>(createBackfill, request);
  const backfill = wait ? await waitForEnd(client, requested) : requested;
  if (json) printJson(backfill);
  else for (const line of formatBackfill(backfill)) printLine(sanitize(line));
  if (backfill.state === "failed") process.exitCode = exitCodes.failure;
}

/** Counts the events as a preview does of a topic that would be created. */
async function countEvents(
  place: PreviewPlace,
  id: string,
  { from, to }: NewBackfillBody,
  { json }: BackfillFlags,
): Promise<void> {
  const { json: topic } = await place.client.call<TopicDetail>(getTopic, { parameters: { id } });
  const { externalId, namespace } = topic;
  const change = { externalId, namespace, before: undefined, after: toDefinition(topic) };
  const times = { from: Date.parse(from), to: to === undefined ? undefined : Date.parse(to) };
  const result = await previewChanges(place, [change], { ...times, examples: 0 });
  const { read, total } = result;
  if (json) printJson(result);
  else printLine(`${total.after} of ${formatCount(read.events, "event")} match the topic.`);
}

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
      if (client.abort.aborted) throw new UnavailableError("stopped");
      ({ json: backfill } = await client.call<BackfillView>(getBackfill, { parameters: { id } }));
      if (backfill.offsets === 0) continue;
      progress ??= createLongProgress("backfilling", backfill.offsets, 1);
      progress.at(backfill.done);
    }
  } catch (error) {
    printError(`The backfill goes on. To cancel it: topicsync backfills cancel ${id}`);
    if (!client.abort.aborted) throw error;
    process.exitCode = exitCodes.failure;
  }
  progress?.end(`${backfill.done} of ${formatCount(backfill.offsets, "offset")}`);
  return backfill;
}
