import { UnavailableError } from "../lib/errors.ts";
import type { OutgoingRecord, RecordProducer, RecordPosition } from "../sync/records.ts";
import type { DeadLetters } from "./browse.ts";
import type { Destination } from "./destination.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import type { Mailbox } from "./mailbox.ts";
import {
  findSuperseding,
  supersededText,
  type PlannedLetter,
  type ReplayPlan,
  type SkippedLetter,
} from "./plan.ts";
import type { Replay } from "./stores.ts";
import type { TopicStates } from "./topic-states.ts";

export interface ReplayOptions extends Pick<DeadLetters, "mailbox" | "replays" | "positions"> {
  readonly states: TopicStates;
  readonly to: Destination;
  readonly producer: RecordProducer;
  readonly now: () => Date;
  /** Ends the replay between two batches. */
  readonly abort: AbortSignal;
  /** Told after each batch how many are through. */
  readonly progress: (done: number) => void;
}

export interface ReplayCounts {
  /** Ids of the letters that Kafka has. */
  readonly sent: readonly string[];
  /** What the broker would not take, and what somebody else began to send or superseded meanwhile. */
  readonly refused: readonly SkippedLetter[];
  /** Why the replay ended before its end; whether the letters of its last batch were sent is not known then. */
  readonly failure: UnavailableError | undefined;
}

const maxRecordsPerBatch = 200;
const maxBytesPerBatch = 512 * 1024;

/** Letters that go to one partition together, with the records of their replays. */
interface Sending {
  readonly letter: DeadLetter;
  readonly replay: Replay;
}

/**
 * Sends the letters of a plan, those of each partition in the order of their offsets. Each is remembered as being sent,
 * then sent, then remembered as sent: whatever ends this in between, no letter is sent unnoticed. An outage ends it early.
 */
export async function sendReplays(plan: ReplayPlan, options: ReplayOptions): Promise<ReplayCounts> {
  const { mailbox, replays, to, producer, now, abort } = options;
  const sent: string[] = [];
  const refused: SkippedLetter[] = [];
  let done = 0;

  /** Where a record was sent to, in the epoch that the sync is in. */
  function placeOf(partition: number, offset: number): RecordPosition {
    const place = { topic: to.topic, partition, offset };
    const { epoch = 1 } =
      options.positions.find((one) => one.topic === to.topic && one.partition === partition) ?? {};
    return epoch === 1 ? place : { ...place, epoch };
  }

  async function send(partition: number | undefined, sendings: readonly Sending[]): Promise<void> {
    const results = await producer.send(
      sendings.map(({ letter, replay }) => ({ ...replayOf(letter, replay, to), partition })),
    );
    const accepted: Replay[] = [];
    const rejected: Replay[] = [];
    for (const [index, { letter, replay }] of sendings.entries()) {
      const result = results[index];
      if (result === undefined) continue;
      if ("rejection" in result) {
        rejected.push(replay);
        refused.push({ id: letter.id, kind: "refused", reason: result.rejection.message });
      } else {
        const sentTo = placeOf(result.partition, result.offset);
        options.states.leaveOut(sentTo, 1);
        sent.push(letter.id);
        accepted.push({ ...replay, state: "sent", sentTo });
      }
    }
    if (accepted.length > 0) await replays.sent(accepted);
    if (rejected.length > 0) await replays.forget(rejected);
  }

  /** Leaves out what was superseded since the plan was made. */
  async function withoutSuperseded(batch: readonly Turn[]): Promise<readonly Turn[]> {
    if (plan.isForced) return batch;
    const known = Map.groupBy(await replays.of(batch.map(({ letter }) => letter.id)), ({ letter }) => letter);
    const superseding = await findSuperseding(
      batch.map(({ letter }) => ({ letter, replays: known.get(letter.id) ?? [] })),
      options.states,
    );
    for (const [id, state] of superseding)
      refused.push({ id, kind: "superseded", reason: supersededText(state) });
    return batch.filter(({ letter }) => !superseding.has(letter.id));
  }

  async function flush(partition: number | undefined, planned: readonly Turn[]): Promise<void> {
    const batch = await withoutSuperseded(planned);
    if (batch.length > 0) await sendBatch(partition, batch);
    done += planned.length;
    options.progress(done);
  }

  async function sendBatch(partition: number | undefined, batch: readonly Turn[]): Promise<void> {
    const on = now();
    const sentTo = { topic: to.topic, ...(partition === undefined ? {} : { partition }) };
    const begun = batch.map(({ letter, replay: id }): Sending => {
      return { letter, replay: { id, letter: letter.id, on, state: "sending", sentTo } };
    });
    const others = await replays.begin(begun.map(({ replay }) => replay));
    const sendings = begun.filter(({ replay }) => !others.has(replay.id));
    for (const { letter, replay } of begun)
      if (others.has(replay.id)) refused.push({ id: letter.id, kind: "replayed", reason: replayedMeanwhile });
    if (partition === undefined) for (const one of sendings) await send(partition, [one]);
    else if (sendings.length > 0) await send(partition, sendings);
  }

  async function sendAll(): Promise<void> {
    let batch: Turn[] = [];
    let bytes = 0;
    let lane: number | undefined;
    for await (const turn of inOrder(mailbox, plan.send)) {
      if (abort.aborted) return;
      if (batch.length === maxRecordsPerBatch || bytes > maxBytesPerBatch || turn.partition !== lane) {
        if (batch.length > 0) await flush(lane, batch);
        batch = [];
        bytes = 0;
      }
      lane = turn.partition;
      batch.push(turn);
      bytes += (turn.letter.key?.length ?? 0) + (turn.letter.value?.length ?? 0);
    }
    if (batch.length > 0 && !abort.aborted) await flush(lane, batch);
  }

  try {
    await sendAll();
    return { sent, refused, failure: undefined };
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return { sent, refused, failure: error };
  }
}

const replayedMeanwhile = "somebody else is replaying it at this moment";

/** The announcement as it came, with the name of the letter that it is a replay of. */
function replayOf(
  { key, value, headers, time }: DeadLetter,
  { letter, on }: Replay,
  { namesTime }: Destination,
): OutgoingRecord {
  const named = namesTime && time !== undefined ? { [deadLetterHeader.time]: String(time.getTime()) } : {};
  return {
    key,
    value,
    headers: { ...headers, [deadLetterHeader.replayOf]: letter, ...named },
    timestamp: String(on.getTime()),
  };
}

/** A letter whose turn it is. */
interface Turn {
  readonly partition: number | undefined;
  readonly letter: DeadLetter;
  /** The id of the sending. */
  readonly replay: string;
}

/**
 * The planned letters, each partition's in their order. The dead-letter topic has nearly that order already; a letter
 * that lies there too early is kept until its turn.
 */
async function* inOrder(
  mailbox: Mailbox,
  plan: readonly PlannedLetter[],
): AsyncGenerator<Turn, void, undefined> {
  const planned = new Map(plan.map((one) => [one.id, one]));
  const lanes = new Map(
    [...Map.groupBy(plan, ({ partition }) => partition)].map(([partition, all]) => [
      partition,
      { ids: all.map(({ id }) => id), next: 0 },
    ]),
  );
  const early = new Map<string, DeadLetter>();

  for await (const { letter } of mailbox.letters()) {
    const own = planned.get(letter.id);
    const lane = own && lanes.get(own.partition);
    if (lane === undefined) continue;
    early.set(letter.id, letter);
    for (let turn = take(lane.ids[lane.next]); turn !== undefined; turn = take(lane.ids[lane.next])) {
      lane.next += 1;
      yield turn;
    }
  }
  // What waited for a letter that is gone by now.
  for (const { ids } of lanes.values()) {
    for (const id of ids) {
      const turn = take(id);
      if (turn !== undefined) yield turn;
    }
  }

  function take(id = ""): Turn | undefined {
    const [letter, own] = [early.get(id), planned.get(id)];
    if (letter === undefined || own === undefined) return undefined;
    early.delete(id);
    return { partition: own.partition, letter, replay: own.replay };
  }
}
