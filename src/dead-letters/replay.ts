import type { LogWriter, OutgoingRecord } from "../records.ts";
import { replayHeader, timeHeader, type Letter } from "./letter.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Destination, PlannedLetter, ReplayPlan, SkippedLetter } from "./plan.ts";
import type { Replay, ReplayStore } from "./ports.ts";

export interface ReplayOptions {
  readonly mailbox: Mailbox;
  readonly replays: ReplayStore;
  readonly to: Destination;
  readonly writer: LogWriter;
  readonly newId: () => string;
  readonly now: () => Date;
  /** Ends the replay between two batches. */
  readonly abort: AbortSignal;
  /** Told after each batch how many are through. */
  readonly progress: (done: number) => void;
}

export interface ReplayResult {
  readonly sent: number;
  /** What the broker would not take. */
  readonly refused: readonly SkippedLetter[];
}

const mostLettersABatch = 200;
const mostBytesABatch = 512 * 1024;

/** Letters that go to one partition together, with the records of their replays. */
interface Sending {
  readonly letter: Letter;
  readonly replay: Replay;
}

/**
 * Sends the letters of a plan, those of each partition in the order of their offsets. Each is remembered as being sent,
 * then sent, then remembered as sent: whatever ends this in between, no letter is sent unnoticed. Throws Unavailable.
 */
export async function sendReplays(plan: ReplayPlan, options: ReplayOptions): Promise<ReplayResult> {
  const { mailbox, replays, to, writer, newId, now, abort } = options;
  const refused: SkippedLetter[] = [];
  let done = 0;

  /** Appends records together; where the broker refuses one of them, one by one. */
  async function append(partition: number | undefined, sendings: readonly Sending[]): Promise<void> {
    const appended = await writer.append(
      partition,
      sendings.map(({ letter, replay }) => replayOf(letter, replay, to)),
    );
    if ("offset" in appended) {
      await replays.sent(
        sendings.map(({ replay }, index) => ({
          ...replay,
          state: "sent",
          sentTo: { topic: to.topic, partition: appended.partition, offset: appended.offset + index },
        })),
      );
    } else if (sendings.length > 1) {
      for (const one of sendings) await append(partition, [one]);
    } else {
      await replays.forget(sendings.map(({ replay }) => replay));
      refused.push(...sendings.map(({ letter }) => ({ id: letter.id, reason: appended.refused })));
    }
  }

  async function flush(partition: number | undefined, letters: readonly Letter[]): Promise<void> {
    const on = now();
    const sentTo = { topic: to.topic, ...(partition === undefined ? {} : { partition }) };
    const sendings = letters.map((letter): Sending => {
      return { letter, replay: { id: newId(), letter: letter.id, on, state: "sending", sentTo } };
    });
    await replays.begin(sendings.map(({ replay }) => replay));
    if (partition === undefined) for (const one of sendings) await append(partition, [one]);
    else await append(partition, sendings);
    done += letters.length;
    options.progress(done);
  }

  let batch: Letter[] = [];
  let bytes = 0;
  let lane: number | undefined;
  for await (const { partition, letter } of inOrder(mailbox, plan.send)) {
    if (abort.aborted) break;
    if (batch.length === mostLettersABatch || bytes > mostBytesABatch || partition !== lane) {
      if (batch.length > 0) await flush(lane, batch);
      batch = [];
      bytes = 0;
    }
    lane = partition;
    batch.push(letter);
    bytes += (letter.key?.length ?? 0) + (letter.value?.length ?? 0);
  }
  if (batch.length > 0 && !abort.aborted) await flush(lane, batch);
  return { sent: done - refused.length, refused };
}

/** The announcement as it came, with the name of the letter that it is a replay of. */
function replayOf(
  { key, value, headers, time }: Letter,
  { letter, on }: Replay,
  { namesTime }: Destination,
): OutgoingRecord {
  const named = namesTime && time !== undefined ? { [timeHeader]: String(time.getTime()) } : {};
  return {
    key,
    value,
    headers: { ...headers, [replayHeader]: letter, ...named },
    timestamp: String(on.getTime()),
  };
}

/**
 * The planned letters, each partition's in their order. The dead-letter topic has nearly that order already; a letter
 * that lies there too early is kept until its turn.
 */
async function* inOrder(
  mailbox: Mailbox,
  plan: readonly PlannedLetter[],
): AsyncGenerator<{ partition: number | undefined; letter: Letter }, void, undefined> {
  const partitionOf = new Map(plan.map(({ id, partition }) => [id, partition]));
  const lanes = new Map(
    [...Map.groupBy(plan, ({ partition }) => partition)].map(([partition, planned]) => [
      partition,
      { partition, ids: planned.map(({ id }) => id), next: 0 },
    ]),
  );
  const early = new Map<string, Letter>();

  for await (const { letter } of mailbox.letters()) {
    const lane = partitionOf.has(letter.id) ? lanes.get(partitionOf.get(letter.id)) : undefined;
    if (lane === undefined) continue;
    early.set(letter.id, letter);
    for (let turn = takeNext(lane); turn !== undefined; turn = takeNext(lane))
      yield { partition: lane.partition, letter: turn };
  }
  // What waited for a letter that is gone by now.
  for (const { partition, ids } of lanes.values()) {
    for (const id of ids) {
      const letter = early.get(id);
      if (letter !== undefined) yield { partition, letter };
    }
  }

  function takeNext(lane: { readonly ids: readonly string[]; next: number }): Letter | undefined {
    const id = lane.ids[lane.next] ?? "";
    const letter = early.get(id);
    if (letter === undefined) return undefined;
    early.delete(id);
    lane.next += 1;
    return letter;
  }
}
