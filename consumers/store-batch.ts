import { retryConflicts } from "../src/lib/retry.ts";
import type { BatchStore, PositionStep } from "../src/sync/positions.ts";
import type { BatchTrace } from "./batch-trace.ts";

/** A decided batch, and how its dead letters are sent. */
export interface DecidedBatch<Writes> {
  readonly writes: Writes;
  /** Undefined when nothing was refused. */
  readonly sendDeadLetters: (() => Promise<void>) | undefined;
  readonly trace: BatchTrace | undefined;
}

/**
 * Stores a decided batch together with its position. Throws what the steps throw; nothing counts then, unless only the
 * answer to the commit was lost.
 *
 * Invariant: dead letters leave only after the unique indexes accepted the writes and the position was found unmoved, since
 * they cannot be taken back; and before the commit, so that no refused record is lost. A repeated transaction sends them again.
 */
export async function storeBatch<Writes>(
  store: Pick<BatchStore<Writes>, "begin">,
  step: PositionStep,
  { writes, sendDeadLetters, trace }: DecidedBatch<Writes>,
): Promise<void> {
  const batch = await store.begin(step);
  try {
    await retryConflicts(async () => {
      trace?.startStage("write");
      await batch.write(writes);
      trace?.startStage("commit");
      if (sendDeadLetters !== undefined) {
        await batch.checkPosition();
        await sendDeadLetters();
      }
      await batch.commit();
    });
  } finally {
    await batch.end();
  }
}
