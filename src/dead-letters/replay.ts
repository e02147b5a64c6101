import type { AuditEvent } from "@topicsync/lib/audit/audit";
import { UnavailableError } from "@topicsync/lib/errors";
import {
  withHeaders,
  type OutgoingRecord,
  type PartitionOffset,
  type RecordPosition,
  type RecordProducer,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import { routedEventHeader } from "../../schemas/routed-event.ts";
import type { SkippedReplay } from "../../schemas/dead-letters/replay.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { readDeadLetters, type DeadLetterSource } from "./records.ts";
import { addProof } from "./proof.ts";
import {
  findSuperseding,
  formatSuperseding,
  skip,
  type PlannedReplay,
  type ReplayPlan,
} from "./replay-plan.ts";
import type { Replay, ReplayStore, SyncPosition } from "./stores.ts";
import type { TopicStates } from "./topic-states.ts";

export interface ReplayOptions extends DeadLetterSource {
  readonly replays: ReplayStore;
  readonly positions: readonly SyncPosition[];
  readonly states: TopicStates;
  readonly producer: RecordProducer;
  /** Whether to keep the original timestamp in a header. Push feedback and events need it. */
  readonly keepTime: boolean;
  /** Whether replays are proven. */
  readonly provesReplays: boolean;
  /** Ends the replay between two batches. */
  readonly abort: AbortSignal;
}

export interface SentReplays {
  /** Ids of the dead letters that Kafka acknowledged. */
  readonly sent: readonly string[];
  /** Rejected by the broker, or replayed or superseded by somebody else since the plan was made. */
  readonly skipped: readonly SkippedReplay[];
  /** Why the replay ended early; it is unknown then whether its last batch was sent. */
  readonly failure: UnavailableError | undefined;
}

const maxRecordsPerBatch = 200;
const maxBytesPerBatch = 512 * 1024;

/**
 * Sends the dead letters of a plan, those of each partition in their order. Each attempt is stored before it
 * is sent and marked after it, so that no crash lets a dead letter be sent without a trace. An outage ends
 * the replay early.
 */
export async function sendReplays(plan: ReplayPlan, options: ReplayOptions): Promise<SentReplays> {
  const run: Run = { ...options, plan, sent: [], skipped: [] };
  const { sent, skipped, abort } = run;
  try {
    for await (const { partition, sendings } of readBatches(run)) {
      if (abort.aborted) break;
      await sendBatch(partition, sendings, run);
    }
    return { sent, skipped, failure: undefined };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { sent, skipped, failure: error };
  }
}

/** A replay that is being sent. */
interface Run extends ReplayOptions {
  readonly plan: ReplayPlan;
  readonly sent: string[];
  readonly skipped: SkippedReplay[];
}

/** A dead letter of a batch. */
interface Sending {
  readonly letter: DeadLetter;
  readonly attempt: number;
}

/** Dead letters for one partition; undefined: their keys decide. */
interface Batch {
  readonly partition: PlannedReplay["partition"];
  readonly sendings: Sending[];
  bytes: number;
}

/** A dead letter whose attempt is stored, so that it may be sent. */
interface Claimed {
  readonly letter: DeadLetter;
  readonly replay: Replay;
}

async function* readBatches({ plan, skipped, ...options }: Run): AsyncGenerator<Batch> {
  const batches = new Map<PlannedReplay["partition"], Batch>();
  for await (const [{ id, attempt, partition, bytes }, letter] of readDeadLetters(plan.send, options)) {
    if (letter === undefined) {
      skipped.push(skip(id, "missing", "its Kafka topic has deleted it"));
      continue;
    }
    const batch = batches.get(partition) ?? { partition, sendings: [], bytes: 0 };
    batch.sendings.push({ letter, attempt });
    batch.bytes += bytes;
    batches.set(partition, batch);
    if (batch.sendings.length < maxRecordsPerBatch && batch.bytes < maxBytesPerBatch) continue;
    batches.delete(partition);
    yield batch;
  }
  yield* batches.values();
}

async function sendBatch(partition: Batch["partition"], batch: readonly Sending[], run: Run): Promise<void> {
  const current = run.plan.force ? batch : await skipSuperseded(batch, run);
  const claimed = await claim(partition, current, run);
  // A request to several partitions can be rejected by some of them only.
  if (partition === undefined) for (const one of claimed) await send([one], run);
  else if (claimed.length > 0) await send(claimed, run);
}

/** Removes what was superseded since the plan was made. */
async function skipSuperseded(
  batch: readonly Sending[],
  { states, skipped }: Run,
): Promise<readonly Sending[]> {
  const superseding = await findSuperseding(
    batch.map(({ letter }) => letter),
    states,
  );
  for (const [id, state] of superseding) skipped.push(skip(id, "superseded", formatSuperseding(state)));
  return batch.filter(({ letter }) => !superseding.has(letter.id));
}

/** Stores the attempts, and removes those that somebody else has begun since the plan was made. */
async function claim(
  partition: Batch["partition"],
  batch: readonly Sending[],
  { plan: { topic }, replays, skipped }: Run,
): Promise<Claimed[]> {
  if (batch.length === 0) return [];
  const startedAt = new Date();
  const sentTo = partition === undefined ? { topic } : { topic, partition };
  const claims = batch.map(({ letter, attempt }): Claimed => {
    return { letter, replay: { deadLetterId: letter.id, attempt, startedAt, state: "sending", sentTo } };
  });
  const taken = await replays.begin(claims.map(({ replay }) => replay));
  for (const id of taken) skipped.push(skip(id, "replayed", "somebody else is replaying it"));
  return claims.filter(({ letter }) => !taken.has(letter.id));
}

async function send(claims: readonly Claimed[], run: Run): Promise<void> {
  const { producer, replays, sent, skipped } = run;
  const results = await producer.send(claims.map((claimed) => toProven(toRecord(claimed, run), run)));
  const acknowledged: Replay[] = [];
  const rejected: Replay[] = [];
  for (const [i, { letter, replay }] of claims.entries()) {
    const result = results[i];
    if (result === undefined) continue;
    if ("rejection" in result) {
      rejected.push(replay);
      skipped.push(skip(letter.id, "rejected", result.rejection.message));
    } else {
      sent.push(letter.id);
      acknowledged.push({ ...replay, state: "sent", sentTo: toPosition(result, run) });
    }
  }
  if (acknowledged.length > 0) await replays.markSent(acknowledged);
  if (rejected.length > 0) await replays.remove(rejected);
}

const toProven = (
  record: OutgoingRecord,
  { provesReplays, proofKey, plan: { topic } }: Run,
): OutgoingRecord => (provesReplays ? addProof(proofKey, topic, record) : record);

/** The position of a sent record, in the epoch that the sync is in. */
function toPosition(
  { partition, offset }: PartitionOffset,
  { plan: { topic }, positions }: Run,
): RecordPosition {
  const position = positions.find((one) => one.topic === topic && one.partition === partition);
  const epoch = position?.epoch ?? 1;
  return epoch === 1 ? { topic, partition, offset } : { topic, partition, offset, epoch };
}

/** The original record, with a header that names its dead letter. */
function toRecord(
  {
    letter: { key, value, headers, time, undelivered },
    replay: { deadLetterId, startedAt, sentTo },
  }: Claimed,
  { keepTime }: Run,
): OutgoingRecord {
  const timeHeaders =
    keepTime && time !== undefined ? { [deadLetterHeader.time]: String(time.getTime()) } : {};
  return {
    key,
    value,
    headers: withHeaders(headers, [
      [deadLetterHeader.replayOf, deadLetterId],
      ...Object.entries(timeHeaders),
      ...(undelivered === undefined ? [] : [[routedEventHeader.undelivered, undelivered] as const]),
    ]),
    timestamp: String(startedAt.getTime()),
    partition: sentTo.partition,
  };
}

const maxAuditedIds = 100;

/**
 * The audit event of a replay; undefined if nothing was sent. Lists the first ids; `topicsync_replays` has
 * all of them.
 */
export function toReplayEvent(
  { topic, send, force }: ReplayPlan,
  { sent, skipped, failure }: SentReplays,
  again = false,
): AuditEvent | undefined {
  const unconfirmed = failure === undefined ? 0 : send.length - sent.length - skipped.length;
  if (sent.length + unconfirmed === 0) return undefined;
  return {
    action: "dead-letters.replayed",
    topic,
    count: sent.length,
    ...(unconfirmed === 0 ? {} : { unconfirmed }),
    ...(again ? { again } : {}),
    ...(force ? { force } : {}),
    ids: sent.slice(0, maxAuditedIds),
  };
}
