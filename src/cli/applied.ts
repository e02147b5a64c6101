import { setTimeout as sleep } from "node:timers/promises";

import { UnavailableError } from "@topicsync/lib/errors";
import type { Position, PartitionOffset } from "@topicsync/kafka";

const pollIntervalMs = 200;

interface AppliedOptions {
  /** The positions of the group, by partition. Throws UnavailableError. */
  readonly findPositions: () => Promise<ReadonlyMap<number, Position>>;
  /** Called after each look-up with the number of applied announcements. */
  readonly onProgress: (done: number) => void;
  /** Called when the store does not respond; the look-up is repeated. */
  readonly onUnavailable: (error: UnavailableError) => void;
  readonly abort: AbortSignal;
}

/** Waits until announcements were applied: stored, unchanged or rejected. Returns false when aborted. */
export async function waitUntilApplied(
  announced: readonly PartitionOffset[],
  { findPositions, onProgress, onUnavailable, abort }: AppliedOptions,
): Promise<boolean> {
  while (!abort.aborted) {
    try {
      const reached = await findPositions();
      const done = announced.filter(
        ({ partition, offset }) => (reached.get(partition)?.offset ?? 0) > offset,
      );
      onProgress(done.length);
      if (done.length === announced.length) return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      onUnavailable(error);
    }
    await sleep(pollIntervalMs, undefined, { signal: abort }).catch(() => undefined);
  }
  return false;
}
