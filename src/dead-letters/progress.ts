import { NotLoadedError, UnavailableError } from "@topicsync/lib/errors";
import { elapsed, sleep } from "@topicsync/lib/platform";
import type { Position, PositionStore, LogReader, LogWatch, TopicBounds } from "@topicsync/kafka";
import type { DeadLetterReader } from "./stores.ts";

export interface ProgressOptions {
  /** The dead-letter topic, and the group whose positions say how far it is stored. */
  readonly topic: string;
  readonly groupId: string;
  readonly kafka: Pick<LogReader, "fetchBounds">;
  readonly watch: Pick<LogWatch, "fetchLog">;
  readonly positions: Pick<PositionStore, "findPositions">;
  readonly letters: Pick<DeadLetterReader, "removeBefore">;
  readonly abort: AbortSignal;
}

/** How far a dead-letter topic is stored. Every function throws UnavailableError. */
export type DeadLetterProgress = ReturnType<typeof createDeadLetterProgress>;

const firstPollMs = 20;
const maxPollMs = 250;

/** Creates it. Asks for nothing before the first call. */
export function createDeadLetterProgress(options: ProgressOptions) {
  const { topic, groupId, kafka, watch, positions, letters, abort } = options;
  /** The offsets before which every dead letter of a log was removed. */
  const lows = new Map<string, number>();

  type Bounds = ReadonlyMap<number, TopicBounds>;

  const fetchBounds = async (): Promise<Bounds> =>
    (await kafka.fetchBounds(topic)) ?? new Map<number, never>();

  async function count(bounds: Bounds): Promise<number> {
    const stored = await positions.findPositions(groupId, topic);
    let unread = 0;
    for (const [partition, one] of bounds) unread += countUnread(one, stored.get(partition));
    return unread;
  }

  /** By name, a log that was deleted may be found: the beginning counts with the id that proves its log. */
  async function removeExpired(bounds: Bounds): Promise<void> {
    const moved = [...bounds].filter(([partition, log]) => log.low > (lows.get(toKey(partition, log)) ?? 0));
    if (moved.length === 0) return;
    const stored = await positions.findPositions(groupId, topic);
    for (const [partition] of moved) {
      const log = await watch.fetchLog(partition);
      const position = stored.get(partition);
      if (position === undefined || position.topicId !== log.topicId) continue;
      await letters.removeBefore({ partition, offset: log.low, epoch: position.epoch });
      // Otherwise a batch that was fetched before may still store some.
      if (position.offset >= log.low) lows.set(toKey(partition, log), log.low);
    }
  }

  return {
    /**
     * Waits until everything is stored that the topic has now, at most for `timeoutMs`. Returns how many
     * records are not stored then. `onUnread` is called while it waits; what it throws ends the waiting.
     */
    async waitUntilStored(timeoutMs: number, onUnread?: (unread: number) => Promise<void>): Promise<number> {
      const bounds = await fetchBounds();
      await removeExpired(bounds);
      const deadline = elapsed() + timeoutMs;
      for (let pauseMs = firstPollMs; ; pauseMs = Math.min(2 * pauseMs, maxPollMs)) {
        const unread = await count(bounds);
        if (unread === 0 || elapsed() > deadline) return unread;
        await onUnread?.(unread);
        await sleep(pauseMs, abort);
        if (abort.aborted) throw new UnavailableError("reading dead letters was stopped");
      }
    },

    /** Removes the dead letters that the topic's retention has deleted. */
    removeExpired: async (): Promise<void> => removeExpired(await fetchBounds()),
  };
}

const toKey = (partition: number, { topicId }: Pick<TopicBounds, "topicId">): string =>
  `${partition} ${topicId ?? ""}`;

/** The records of a partition after a stored position, which may be of a log that was replaced. */
function countUnread({ low, high, topicId }: TopicBounds, stored: Position | undefined): number {
  const isOtherLog = stored?.topicId !== undefined && topicId !== undefined && stored.topicId !== topicId;
  return Math.max(0, high - Math.max(low, stored === undefined || isOtherLog ? low : stored.offset));
}

/** The error for what needs all dead letters; `problem` says why they are not stored, if that is known. */
export function createNotStoredError(unread: number, problem?: string): NotLoadedError {
  const cause = problem === undefined ? "" : `: ${problem}`;
  return new NotLoadedError(`the dead letters are still being read, ${unread} are left${cause}`);
}
