import { NotLoadedError } from "../lib/errors.ts";
import {
  type LogBounds,
  type LogReader,
  type PartitionRecord,
  getHeaderText,
  formatRecordPosition,
  type RecordPosition,
} from "../sync/records.ts";
import type { DeadLetters } from "./browse.ts";
import { deadLetterHeader } from "../../schemas/dead-letter.ts";
import type { TopicState } from "./stores.ts";

/** What the channel said of topics: what the sync has applied, and what waits for it in the log. */
export interface TopicStates {
  /** As it is now. Throws UnavailableError, and NotLoadedError where too many announcements wait. */
  find(externalIds: readonly string[]): Promise<readonly TopicState[]>;
  /** Leaves records out from now on: the replay that asks has appended them itself. */
  leaveOut(first: RecordPosition, count: number): void;
}

export interface TopicStatesOptions extends Pick<DeadLetters, "sync" | "positions" | "identify"> {
  readonly reader: LogReader;
  /** The announcements topic. */
  readonly topic: string;
  readonly abort: AbortSignal;
}

/** Reading more than these would take longer than waiting for the sync. */
const maxWaiting = 100_000;

/** For push feedback, which does not speak of topics: a report that is out of date deactivates nothing. */
export const noTopicStates: TopicStates = { find: () => Promise.resolve([]), leaveOut: () => undefined };

/**
 * What is said of topics from the given positions on. Each record of the log is read once.
 *
 * Invariant: a record was before its partition's `next` offset exactly if it is in `waiting`, was left out, or was applied
 * when the positions were read.
 */
export function createTopicStates(options: TopicStatesOptions): TopicStates {
  const { sync, positions, identify, reader, topic, abort } = options;
  const waiting = new Map<string, TopicState[]>();
  const next = new Map<number, number>();
  const epochs = new Map<number, number>();
  const leftOut = new Set<string>();

  /** Where reading begins. A position behind the end is of a log that is over. */
  function begin(partition: number, { low, high }: LogBounds): number {
    const { nextOffset = low, epoch = 1 } =
      positions.find((one) => one.topic === topic && one.partition === partition) ?? {};
    const isOver = nextOffset > high;
    epochs.set(partition, isOver ? epoch + 1 : epoch);
    return isOver ? low : Math.max(low, nextOffset);
  }

  function placeAt(partition: number, offset: number): RecordPosition {
    const epoch = epochs.get(partition) ?? 1;
    return { topic, partition, offset, ...(epoch > 1 && { epoch }) };
  }

  function take({ partition, record }: PartitionRecord): void {
    next.set(partition, record.offset + 1);
    const externalId = identify(record);
    if (externalId === undefined) return;
    const replayOf = getHeaderText(record.headers, deadLetterHeader.replayOf);
    const state: TopicState = {
      externalId,
      by: { kind: "announcement", ...placeAt(partition, record.offset) },
      retired: record.value === null,
      waiting: { replayOf },
    };
    waiting.set(externalId, [...(waiting.get(externalId) ?? []), state]);
  }

  async function readOn(): Promise<void> {
    const bounds = (await reader.bounds(topic)) ?? new Map<number, LogBounds>();
    const from = new Map<number, number>();
    let count = 0;
    for (const [partition, found] of bounds) {
      const first = next.get(partition) ?? begin(partition, found);
      from.set(partition, first);
      count += Math.max(0, found.high - first);
    }
    if (count > maxWaiting) {
      throw new NotLoadedError(
        `${count} announcements wait to be applied; whether a letter is superseded is known once there are at most ${maxWaiting}`,
      );
    }
    if (count > 0) for await (const placed of reader.read(topic, { from, abort })) take(placed);
    for (const [partition, { high }] of bounds)
      next.set(partition, Math.max(high, next.get(partition) ?? high));
  }

  return {
    async find(externalIds) {
      if (externalIds.length === 0) return [];
      // The log first: what the sync takes from it meanwhile is in both answers.
      await readOn();
      const applied = await sync.topics(externalIds);
      const states = [...applied, ...externalIds.flatMap((id) => waiting.get(id) ?? [])];
      return states.filter(({ by }) => !leftOut.has(formatRecordPosition(by)));
    },
    leaveOut(first, count) {
      for (let i = 0; i < count; i += 1)
        leftOut.add(formatRecordPosition({ ...first, offset: first.offset + i }));
      if (next.get(first.partition) === first.offset) next.set(first.partition, first.offset + count);
    },
  };
}
