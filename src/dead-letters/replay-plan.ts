import { isSamePartition, type RecordPosition } from "@topicsync/kafka";
import type { SkippedReplay, SkipReason } from "../../schemas/dead-letters/replay.ts";
import { formatOutcome, type ReplayWithOutcome } from "./outcomes.ts";
import type { Replay, TopicState } from "./stores.ts";
import type { DeadLetterSummary } from "./summary.ts";
import type { OrderedTopicState, TopicStates } from "./topic-states.ts";

/** A dead letter to send. */
export interface PlannedReplay extends Pick<DeadLetterSummary, "id" | "position" | "bytes"> {
  readonly attempt: number;
  /** The partition that it came from; undefined where that is unknown, so that its key decides. */
  readonly partition: number | undefined;
  /** Dead letters of one partition are sent in this order. */
  readonly order: Pick<RecordPosition, "offset" | "epoch">;
}

/** What a replay will do. Holds no records. */
export interface ReplayPlan {
  /** The Kafka topic that the dead letters are sent to. */
  readonly topic: string;
  readonly send: readonly PlannedReplay[];
  readonly skipped: readonly SkippedReplay[];
  /** Whether superseded dead letters are sent, too. */
  readonly force: boolean;
}

export interface PlanOptions {
  /** The destination. */
  readonly topic: string;
  readonly partitions: number;
  readonly states: TopicStates;
  readonly findReplays: (
    ids: readonly string[],
  ) => Promise<ReadonlyMap<string, readonly ReplayWithOutcome[]>>;
  /** Also send what was replayed before. */
  readonly again: boolean;
  /** Also send what is superseded. */
  readonly force: boolean;
  /** Also send what topicsync did not write. */
  readonly others: boolean;
  /** Which of these topics are in a namespace where the caller may not replay. */
  readonly findForeign: (externalIds: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** Decides which dead letters to send, and why the others are not. Throws as `TopicStates.find` does. */
export async function planReplay(
  deadLetters: readonly DeadLetterSummary[],
  { topic, partitions, states, findReplays, findForeign, again, force, others }: PlanOptions,
): Promise<ReplayPlan> {
  const send: PlannedReplay[] = [];
  const skipped: SkippedReplay[] = [];

  function toPlanned(
    { id, position, bytes, source }: DeadLetterSummary,
    replays: readonly Replay[],
  ): PlannedReplay {
    const attempt = (replays.at(-1)?.attempt ?? 0) + 1;
    const isKnown = source?.topic === topic && source.partition < partitions;
    return {
      id,
      position,
      bytes,
      attempt,
      partition: isKnown ? source.partition : undefined,
      order: isKnown ? source : position,
    };
  }

  const replaysById = await findReplays(deadLetters.map(({ id }) => id));
  const foreign = await findForeign(deadLetters.flatMap(({ externalId }) => externalId ?? []));
  const superseding = force ? undefined : await findSuperseding(deadLetters, states);
  for (const letter of deadLetters) {
    const replays = replaysById.get(letter.id) ?? [];
    const last = replays.at(-1);
    const later = superseding?.get(letter.id);
    if (letter.omitted !== undefined) skipped.push(skip(letter.id, "omitted", letter.omitted));
    else if (letter.code === "OTHER" && !others) skipped.push(skip(letter.id, "forbidden", notOurs));
    else if (foreign.has(letter.externalId ?? "")) skipped.push(skip(letter.id, "forbidden", notAllowed));
    else if (last !== undefined && !again) skipped.push(skip(letter.id, "replayed", formatReplay(last)));
    else if (later !== undefined) skipped.push(skip(letter.id, "superseded", formatSuperseding(later)));
    else send.push(toPlanned(letter, replays));
  }
  return { topic, send: send.toSorted((a, b) => compareOrder(a.order, b.order)), skipped, force };
}

export const skip = (id: string, reason: SkipReason, message: string): SkippedReplay => ({
  id,
  reason,
  message,
});

const notOurs = "another program wrote it: sending it requires the right admin";
const notAllowed = "its topic is in a namespace where you may not replay";

const formatReplay = ({ startedAt, outcome }: ReplayWithOutcome): string =>
  `replayed on ${startedAt.toISOString()}: ${formatOutcome(outcome)}`;

type Superseded = Pick<DeadLetterSummary, "id" | "source" | "externalId">;

/** The state that supersedes each of these dead letters, by id. Throws as `TopicStates.find` does. */
export async function findSuperseding(
  deadLetters: readonly Superseded[],
  states: TopicStates,
): Promise<ReadonlyMap<string, TopicState>> {
  const ids = deadLetters.map(({ externalId }) => externalId).filter((id) => id !== undefined);
  const byId = Map.groupBy(await states.find([...new Set(ids)]), ({ externalId }) => externalId);
  const found = new Map<string, TopicState>();
  for (const letter of deadLetters) {
    const later = findLater(letter, byId.get(letter.externalId ?? "") ?? []);
    if (later !== undefined) found.set(letter.id, later);
  }
  return found;
}

/**
 * A later announcement of the dead letter's topic in the same partition, which the dead letter would
 * overwrite if it were sent now. Announcements of other partitions and changes over HTTP have no order with
 * it.
 */
export function findLater(
  { source }: Pick<Superseded, "source">,
  states: readonly OrderedTopicState[],
): TopicState | undefined {
  if (source === undefined) return undefined;
  return states.find(({ by, order }) => isSamePartition(by, source) && compareOrder(order, source) > 0);
}

/** Offsets are ordered within one epoch; a later epoch comes after all of an earlier one. */
export const compareOrder = (
  a: Pick<RecordPosition, "offset" | "epoch">,
  b: Pick<RecordPosition, "offset" | "epoch">,
): number => (a.epoch ?? 1) - (b.epoch ?? 1) || a.offset - b.offset;

export function formatSuperseding({ externalId, by, retired, pending }: TopicState): string {
  const change = retired ? "retired" : "announced";
  const epoch = by.epoch === undefined ? "" : ` of epoch ${by.epoch}`;
  const text = `superseded: ${externalId} was ${change} later, at offset ${by.offset}${epoch}`;
  return pending === undefined ? text : `${text}, which the sync has not applied yet`;
}
