import { NotLoadedError } from "@topicsync/lib/errors";
import {
  formatRecordPosition,
  getHeaderText,
  type LogBounds,
  type LogReader,
  type Partition,
  type PartitionRecord,
  type RecordPosition,
} from "@topicsync/kafka";
import { deadLetterHeader } from "../../schemas/dead-letters/record.ts";
import type { IdentifyTopic } from "./dead-letter.ts";
import { getSentId } from "./outcomes.ts";
import type { ReplayStore, SyncPosition, SyncState, TopicState } from "./stores.ts";

/**
 * The latest announcements of topics: those that the sync has applied, and those still pending in the log.
 */
export interface TopicStates {
  /**
   * Up to date at the time of the call. Throws UnavailableError, and NotLoadedError if too many announcements
   * are pending.
   */
  find(externalIds: readonly string[]): Promise<readonly OrderedTopicState[]>;
}

export interface OrderedTopicState extends TopicState {
  /** Its place in the order of the partition: that of the dead letter if it is a replay. */
  readonly order: Pick<RecordPosition, "offset" | "epoch">;
}

export interface TopicStatesOptions {
  readonly sync: SyncState;
  readonly replays: Pick<ReplayStore, "findSent">;
  /** Read before the topic states are created. */
  readonly positions: readonly SyncPosition[];
  readonly identify: IdentifyTopic;
  readonly reader: Pick<LogReader, "fetchBounds" | "read">;
  /** The announcements topic. */
  readonly topic: string;
  readonly abort: AbortSignal;
}

/** Reading more than these would take longer than waiting for the sync. */
const maxPending = 100_000;

/** For reports and events, which are not about topics. An outdated report deactivates nothing. */
export const noTopicStates: TopicStates = { find: () => Promise.resolve([]) };

/**
 * Reads the announcements from the given positions on, each record once.
 *
 * Invariant: a record before its partition's `nextOffsets` is in `pending`, or was applied when the positions
 * were read.
 */
export function createTopicStates(options: TopicStatesOptions): TopicStates {
  const { sync, positions, identify, reader, topic, abort } = options;
  const pending = new Map<string, TopicState[]>();
  const nextOffsets = new Map<number, number>();
  const epochs = new Map<number, number>();

  /**
   * The offset to begin at. A position beyond the end belongs to an earlier log: the topic was created again
   * since.
   */
  function begin(partition: number, { low, high }: LogBounds): number {
    const position = positions.find((one) => one.topic === topic && one.partition === partition);
    const { offset: nextOffset = low, epoch = 1 } = position ?? {};
    const isRecreated = nextOffset > high;
    epochs.set(partition, isRecreated ? epoch + 1 : epoch);
    return isRecreated ? low : Math.max(low, nextOffset);
  }

  function toPosition(partition: number, offset: number): RecordPosition {
    const epoch = epochs.get(partition) ?? 1;
    return epoch === 1 ? { topic, partition, offset } : { topic, partition, offset, epoch };
  }

  function add({ partition, record }: PartitionRecord): void {
    nextOffsets.set(partition, record.offset + 1);
    const externalId = identify(record);
    if (externalId === undefined) return;
    const state: TopicState = {
      externalId,
      by: { kind: "announcement", ...toPosition(partition, record.offset) },
      retired: record.value === null,
      pending: { replayOf: getHeaderText(record.headers, deadLetterHeader.replayOf) },
    };
    const states = pending.get(externalId);
    if (states === undefined) pending.set(externalId, [state]);
    else states.push(state);
  }

  async function readPending(): Promise<void> {
    const bounds = (await reader.fetchBounds(topic)) ?? new Map<number, LogBounds>();
    const from = new Map<number, number>();
    let count = 0;
    for (const [partition, found] of bounds) {
      const first = nextOffsets.get(partition) ?? begin(partition, found);
      from.set(partition, first);
      count += Math.max(0, found.high - first);
    }
    if (count > maxPending) {
      throw new NotLoadedError(
        `${count} announcements are waiting to be applied; dead letters can be replayed once there are at most ${maxPending}`,
      );
    }
    if (count > 0) for await (const record of reader.read(topic, { from, abort })) add(record);
    for (const [partition, { high }] of bounds)
      nextOffsets.set(partition, Math.max(high, nextOffsets.get(partition) ?? high));
  }

  return {
    async find(externalIds) {
      if (externalIds.length === 0) return [];
      // Read the log first: what the sync applies in between is then in both.
      await readPending();
      const applied = await sync.findTopics(externalIds);
      return putInOrder([...applied, ...externalIds.flatMap((id) => pending.get(id) ?? [])], options.replays);
    },
  };
}

/** A replay has the place of its dead letter. Applied announcements are replays if that is stored. */
async function putInOrder(
  states: readonly TopicState[],
  replays: TopicStatesOptions["replays"],
): Promise<OrderedTopicState[]> {
  const applied = states.filter(({ pending }) => pending === undefined);
  const sent = await replays.findSent(applied.map(({ by }) => by));
  const deadLetterIds = new Map(sent.map((replay) => [getSentId(replay), replay.deadLetterId]));
  return states.map((state) => {
    const { by, pending } = state;
    const replayOf = pending === undefined ? deadLetterIds.get(formatRecordPosition(by)) : pending.replayOf;
    return { ...state, order: parseOrder(replayOf, by) ?? by };
  });
}

/** The end of a dead letter's id; undefined for one of another partition. */
function parseOrder(
  id: string | undefined,
  { topic, partition }: Partition,
): OrderedTopicState["order"] | undefined {
  const prefix = `${topic}-${partition}-`;
  const end = id?.startsWith(prefix) ? /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(id.slice(prefix.length)) : null;
  return end === null ? undefined : { offset: Number(end[1]), epoch: Number(end[2] ?? 1) };
}
