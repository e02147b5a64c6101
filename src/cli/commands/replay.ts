import type { DeadLetters } from "../../dead-letters/browse.ts";
import type { Choice } from "../../dead-letters/choose.ts";
import { replayedEvent } from "../../dead-letters/audit.ts";
import { planReplay, type SkippedLetter } from "../../dead-letters/plan.ts";
import { findDestination } from "../../dead-letters/destination.ts";
import { sendReplays } from "../../dead-letters/replay.ts";
import { createTopicStates, noTopicStates } from "../../dead-letters/topic-states.ts";
import { UnavailableError } from "../../lib/errors.ts";
import { isConfirmed } from "../input/confirm.ts";
import type { CommandContext } from "../context.ts";
import { sanitize, type Output } from "../output/output.ts";
import { createProgress } from "../output/progress.ts";
import { createTableWriter } from "../output/table.ts";

export interface ReplayFlags {
  readonly again?: boolean;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly pushFeedback?: true;
}

export interface ReplayCommand extends ReplayFlags {
  /** The Kafka topic that they are sent to. */
  readonly to: string;
  readonly choice: Choice;
  /** Named one by one: each must be there. */
  readonly ids: readonly string[];
  readonly output: Output;
}

/** Plans, shows, asks and sends. Throws UnavailableError, and an Error for an id that is not there. */
export async function replayLetters(
  { broker, audit, abort }: CommandContext,
  opened: DeadLetters,
  { to: topic, choice, ids, again = false, force = false, dryRun, yes, pushFeedback, output }: ReplayCommand,
): Promise<void> {
  const { mailbox } = opened;
  const unknown = ids.filter((id) => mailbox.codeOf(id) === undefined);
  if (unknown.length > 0) throw new Error(`there is no dead letter ${unknown.join(", ")}; nothing was sent`);

  const kafka = await broker();
  const to = await findDestination(kafka, topic, { namesTime: pushFeedback === true });
  const states = pushFeedback ? noTopicStates : createTopicStates({ ...opened, reader: kafka, topic, abort });
  const letters = { ...opened, states };
  const plan = await planReplay(letters, to, { choice, again, force });
  await tell(output, "is not sent", plan.skipped);
  const count = plan.send.length;
  const what = `${count} ${count === 1 ? "dead letter" : "dead letters"}`;
  if (count === 0 || dryRun) {
    await output.write(count === 0 ? "Nothing is to be sent.\n" : `${what} would be sent to ${topic}.\n`);
    return;
  }
  if (!yes && !(await isConfirmed(`Send ${what} to ${topic}?`))) {
    await output.write("Nothing was sent.\n");
    return;
  }

  const record = audit();
  const progress = createProgress("replaying", count);
  const producer = kafka.producer(topic);
  try {
    const { sent, refused, failure } = await sendReplays(plan, {
      ...letters,
      to,
      producer,
      now: () => new Date(),
      abort,
      progress: (done) => {
        progress.at(done);
      },
    });
    if (sent.length > 0) record(replayedEvent(topic, sent));
    if (failure !== undefined) throw failure;
    progress.end(`${sent.length} of ${what} ${sent.length === 1 ? "was" : "were"} sent to ${topic}`);
    await tell(output, "was not sent", refused);
    if (abort.aborted) throw new UnavailableError(`stopped after ${sent.length} of ${what}`);
  } finally {
    await producer.close();
  }
}

async function tell(output: Output, title: string, skipped: readonly SkippedLetter[]): Promise<void> {
  if (skipped.length === 0) return;
  const rows = await createTableWriter(output, [{ head: title }, { head: "because" }]);
  for (const { id, reason } of skipped) await rows.add([sanitize(id), sanitize(reason)]);
  await rows.end();
}
