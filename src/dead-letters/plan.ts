import type { SkipKind } from "../../schemas/dead-letters.ts";
import type { Partition, RecordPosition } from "../sync/records.ts";
import { inBatches, listLetters, type DeadLetters, type ListedLetter } from "./browse.ts";
import type { Choice } from "./choose.ts";
import type { Destination } from "./destination.ts";
import type { DeadLetter } from "./dead-letter.ts";
import { outcomeText } from "./outcome.ts";
import type { Replay, TopicState } from "./stores.ts";
import { replayIdAfter } from "./replay-id.ts";
import type { TopicStates } from "./topic-states.ts";

export interface ReplayChoice {
  readonly choice: Choice;
  /** Also what was replayed before. */
  readonly again: boolean;
  /** Also what is superseded. */
  readonly force: boolean;
}

/** A letter that will be sent. */
export interface PlannedLetter {
  readonly id: string;
  /** The partition that it came from; undefined where that is not known: its key decides then. */
  readonly partition: number | undefined;
  /** Letters of one partition are sent in this order: of the epochs, and of the offsets within each. */
  readonly order: Pick<RecordPosition, "offset" | "epoch">;
  /** The id of this sending. */
  readonly replay: string;
}

/** A letter that is not sent. */
export interface SkippedLetter {
  readonly id: string;
  readonly kind: SkipKind;
  /** The same in words. */
  readonly reason: string;
}

/** What a replay will do. It holds no letter's bytes. */
export interface ReplayPlan {
  readonly send: readonly PlannedLetter[];
  readonly skipped: readonly SkippedLetter[];
  /** Whether letters are sent although they are superseded. */
  readonly isForced: boolean;
}

/**
 * Looks through the chosen letters, and sorts out those that cannot or should not be sent, each with the reason.
 * Throws UnavailableError.
 */
export async function planReplay(
  letters: DeadLetters & { readonly states: TopicStates },
  to: Destination,
  { choice, again, force }: ReplayChoice,
): Promise<ReplayPlan> {
  const send: PlannedLetter[] = [];
  const skipped: SkippedLetter[] = [];

  async function sortOut(batch: readonly ListedLetter[]): Promise<void> {
    const superseding = force ? undefined : await findSuperseding(batch, letters.states);
    for (const { letter, replays } of batch) {
      const later = superseding?.get(letter.id);
      const last = replays.at(-1);
      const skip = (kind: SkipKind, reason: string) => skipped.push({ id: letter.id, kind, reason });
      if (letter.omitted !== undefined) skip("omitted", letter.omitted);
      else if (last !== undefined && !again)
        skip("replayed", `replayed on ${last.on.toISOString()}: ${outcomeText(last.outcome)}`);
      else if (later !== undefined) skip("superseded", supersededText(later));
      else send.push({ id: letter.id, ...laneOf(letter, to), replay: replayIdAfter(letter.id, replays) });
    }
  }

  for await (const batch of inBatches(listLetters(letters, choice))) await sortOut(batch);
  return { send: send.toSorted((a, b) => comparePlaces(a.order, b.order)), skipped, isForced: force };
}

/** A letter with what is known of its replays. */
interface WithReplays {
  readonly letter: Pick<DeadLetter, "id" | "source" | "externalId">;
  readonly replays: readonly Pick<Replay, "sentTo">[];
}

/** What supersedes these letters, by the letter's id. Throws as `TopicStates` does. */
export async function findSuperseding(
  batch: readonly WithReplays[],
  states: TopicStates,
): Promise<ReadonlyMap<string, TopicState>> {
  const ids = batch.map(({ letter }) => letter.externalId).filter((id) => id !== undefined);
  const byId = Map.groupBy(await states.find([...new Set(ids)]), ({ externalId }) => externalId);
  return new Map(
    batch.flatMap(({ letter, replays }): [string, TopicState][] => {
      const later = laterState({ letter, replays }, byId.get(letter.externalId ?? "") ?? []);
      return later === undefined ? [] : [[letter.id, later]];
    }),
  );
}

/**
 * What the same partition said of the letter's topic after it, in the same epoch of its log or a later one: sent now, the letter
 * would overwrite it. What its own replays said is no other word. What another partition or HTTP said has no order with it.
 */
export function laterState(
  { letter: { id, source }, replays }: WithReplays,
  states: readonly TopicState[],
): TopicState | undefined {
  if (source === undefined) return undefined;
  const isOwn = (by: RecordPosition): boolean =>
    replays.some(
      ({ sentTo: { topic, partition, offset, epoch } }) =>
        partition !== undefined &&
        offset !== undefined &&
        isSamePartition(by, { topic, partition }) &&
        comparePlaces(by, { offset, ...(epoch !== undefined && { epoch }) }) === 0,
    );
  return states.find(
    ({ by, waiting }) =>
      isSamePartition(by, source) && comparePlaces(by, source) > 0 && waiting?.replayOf !== id && !isOwn(by),
  );
}

/** Offsets have an order within one epoch only; a later epoch comes after all of an earlier one. */
const comparePlaces = (
  a: Pick<RecordPosition, "offset" | "epoch">,
  b: Pick<RecordPosition, "offset" | "epoch">,
): number => (a.epoch ?? 1) - (b.epoch ?? 1) || a.offset - b.offset;

const isSamePartition = (a: Partition, b: Partition): boolean =>
  a.topic === b.topic && a.partition === b.partition;

export function supersededText({ externalId, by, retired, waiting }: TopicState): string {
  const epoch = by.epoch === undefined ? "" : ` of epoch ${by.epoch}`;
  const text = `superseded: ${externalId} was ${retired ? "retired" : "announced"} later, at offset ${by.offset}${epoch}`;
  return waiting === undefined ? text : `${text}, which the sync has not applied yet`;
}

function laneOf({ source, at }: DeadLetter, to: Destination): Pick<PlannedLetter, "partition" | "order"> {
  if (source?.topic === to.topic && source.partition < to.partitions)
    return { partition: source.partition, order: source };
  return { partition: undefined, order: at };
}
