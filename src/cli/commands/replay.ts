import type { SkippedReplay } from "../../../schemas/dead-letter-replay.ts";
import type { DeadLetterFilter } from "../../dead-letters/stores.ts";
import { toReplayEvent } from "../../dead-letters/replay.ts";
import type { DeadLetterService } from "../../dead-letters/service.ts";
import { UnavailableError } from "../../lib/errors.ts";
import type { CommandContext } from "../context.ts";
import { isConfirmed } from "../input/confirm.ts";
import { formatCount } from "../output/format.ts";
import { openOutput, sanitize, type Output } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

export interface ReplayFlags {
  readonly again?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface ReplayCommand extends ReplayFlags {
  readonly filter: DeadLetterFilter;
}

/** Plans, prints what is skipped, asks and sends. Throws UnavailableError, and an Error for an unknown id. */
export async function replayDeadLetters(
  { audit, abort }: CommandContext,
  service: DeadLetterService,
  { filter, again, force, dryRun, yes }: ReplayCommand,
): Promise<void> {
  const output = openOutput();
  const plan = await service.plan({ filter, again, force, others: true });
  const missing = plan.skipped.filter(({ reason }) => reason === "missing").map(({ id }) => id);
  if (missing.length > 0) throw new Error(`there is no dead letter ${missing.join(", ")}; nothing was sent`);

  await printSkipped(output, plan.skipped);
  const count = plan.send.length;
  const planned = formatCount(count, "dead letter");
  if (count === 0 || dryRun) {
    await output.write(count === 0 ? "Nothing to send.\n" : `${planned} would be sent to ${plan.topic}.\n`);
    return;
  }
  if (!yes && !(await isConfirmed(`Send ${planned} to ${plan.topic}?`))) {
    await output.write("Nothing was sent.\n");
    return;
  }

  const record = audit();
  const progress = createProgress("replaying", count);
  const result = await service.send(plan, (done) => {
    progress.at(done);
  });
  const { sent, skipped, failure } = result;
  const event = toReplayEvent(plan, result, again);
  if (event !== undefined) record(event);
  if (failure !== undefined) throw failure;
  progress.end(`sent ${sent.length} of ${planned} to ${plan.topic}`);
  await printSkipped(output, skipped);
  if (abort.aborted) throw new UnavailableError(`stopped after ${sent.length} of ${planned}`);
}

async function printSkipped(output: Output, skipped: readonly SkippedReplay[]): Promise<void> {
  if (skipped.length === 0) return;
  const table = await createTableWriter(output, [{ head: "not sent" }, { head: "reason" }]);
  for (const { id, message } of skipped) await table.add([sanitize(id), sanitize(message)]);
  await table.end();
}
