import { invariant } from "@topicsync/lib/invariant";
import { repeat } from "@topicsync/lib/platform";
import {
  isAtOrAfter,
  type BatchStore,
  type ClaimedPosition,
  type Position,
  type PositionStep,
  measureRecord,
  type LogRecord,
  type RecordBatch,
} from "@topicsync/kafka";
import type { BatchTrace } from "./batch-trace.ts";

/**
 * What is done with the records of a partition. `Prepared` is what they become before they are written;
 * `Outcome` is what is reported of a batch that was stored.
 */
export interface BatchHandler<Prepared extends PreparedBatch = PreparedBatch, Outcome = unknown> {
  /**
   * How many records the store can write in one transaction; 2,000 by default. Fewer while the store is slow
   * or fails.
   */
  readonly maxRecordsPerWrite?: number;
  /** Whether the position is stored in the Kafka cluster itself, so that another cluster has none. */
  readonly keepsPositionInKafka?: boolean;
  /**
   * Takes the partition over and returns its stored position; undefined when there is none. Throws
   * UnavailableError.
   */
  claim(): Promise<ClaimedPosition | undefined>;
  /** Reads the stored position without taking the partition over. Throws UnavailableError. */
  findPosition(): Promise<Position | undefined>;
  /**
   * Decodes records of this epoch, and does what does not depend on the previous batch, which is still being
   * written. Takes at least the first record, and leaves those that would make the write too large to the
   * next batch. Never throws.
   */
  prepare(records: readonly LogRecord[], epoch: number): Prepared;
  /**
   * Writes and moves the position. Throws UnavailableError, FencedError, or an unexpected error; nothing is
   * stored then, unless only the response to the commit was lost.
   *
   * @param onAttempt - Called before each attempt with its outcome, which counts if only the response to the
   * commit is lost. A handler that cannot know the outcome before the commit does not call it.
   */
  write(prepared: Prepared, step: Step, onAttempt: (outcome: Outcome) => void): Promise<Outcome>;
  /**
   * Reports a stored batch to metrics, audit log and listeners. Its `write` may have thrown, if the position
   * was found where it should have moved. Never throws.
   *
   * @param outcome - What `write` returned or, if it threw, the outcome of its last attempt; undefined if
   * that is not known.
   * @param tookMs - How long the write took; 0 if it threw.
   */
  report(prepared: Prepared, outcome: Outcome | undefined, tookMs: number): void;
  /** Releases what the handler holds, once the last write has ended. */
  close?(): Promise<void>;
}

export interface PreparedBatch {
  /** Those that were taken. */
  readonly records: readonly LogRecord[];
}

/** The step that the position takes. */
export type Step = Pick<PositionStep, "from" | "to">;

const maxBytesPerBatch = 4 * 1024 * 1024;
/**
 * A slower write makes the next batches smaller: one that outlasts the driver's timeout would be retried
 * forever, and the next owner of the partition waits for the write in progress.
 */
const slowWriteMs = 2_000;
const fastWriteMs = 500;
/** What the distance to the store may add to both. */
const maxFixedMs = 3_000;

/** How many records the next batch may have: fewer while the store is slow or fails. */
export function createBatchLimit(maxRecords: number) {
  let records = maxRecords;
  /** The part of a write's time that smaller batches do not save. */
  let fixedMs = 0;
  /** The write that made the next one smaller. */
  let slow: { readonly tookMs: number; readonly count: number } | undefined;
  return {
    get: () => records,
    /**
     * After a write that failed. A fenced one may have failed because it took too long: then the broker has
     * ended its transaction.
     */
    handleFailure(tookMs: number, isFenced: boolean): void {
      slow = undefined;
      if (!isFenced || tookMs > slowWriteMs) records = Math.ceil(records / 2);
    },
    /** After a successful write of so many records. */
    adjust(tookMs: number, count: number): void {
      if (slow !== undefined && count < slow.count) {
        const msPerRecord = (slow.tookMs - tookMs) / (slow.count - count);
        fixedMs = Math.min(maxFixedMs, Math.max(0, tookMs - count * msPerRecord));
      }
      slow = undefined;
      fixedMs = Math.min(fixedMs, tookMs);
      if (tookMs > slowWriteMs + fixedMs) {
        records = Math.ceil(records / 2);
        slow = { tookMs, count };
        // Grows slowly, or every second batch would be too large for a store that takes just half.
      } else if (tookMs < fastWriteMs + fixedMs)
        records = Math.min(maxRecords, records + Math.ceil(records / 8));
    },
  };
}

/** The first of the records, as many as one write can take. */
export function takeBatch(records: readonly LogRecord[], maxRecords: number): readonly LogRecord[] {
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    const size = measureRecord(record);
    if (index > 0 && (index >= maxRecords || bytes + size > maxBytesPerBatch)) return records.slice(0, index);
    bytes += size;
  }
  return records;
}

const heartbeatIntervalMs = 1_000;

/** Sends heartbeats while it waits for a promise. */
export async function whileBeating<T>(batch: RecordBatch, promise: Promise<T>): Promise<T> {
  const stop = repeat(heartbeatIntervalMs, () => void batch.heartbeat());
  try {
    return await promise;
  } finally {
    stop();
  }
}

/** A decided batch, and how its dead letters are sent. */
interface DecidedBatch<Writes> {
  readonly writes: Writes;
  /** Undefined when nothing was rejected. */
  readonly sendDeadLetters: (() => Promise<void>) | undefined;
  readonly trace: BatchTrace;
}

/**
 * Stores a decided batch together with its position. Throws what the steps throw; nothing counts then, unless
 * only the response to the commit was lost.
 *
 * Invariant: dead letters leave only after the unique indexes accepted the writes and the position was found
 * unmoved, since they cannot be taken back; and before the commit, so that no rejected record is lost. A
 * repeated transaction sends them again.
 */
export async function storeBatch<Writes>(
  store: Pick<BatchStore<Writes>, "begin">,
  step: PositionStep,
  { writes, sendDeadLetters, trace }: DecidedBatch<Writes>,
): Promise<void> {
  const { from, to } = step;
  invariant(from === undefined || isAtOrAfter(to, from), "a position never moves back within an epoch");
  const batch = await store.begin(step);
  try {
    for (;;) {
      try {
        trace.startStage("write");
        await batch.write(writes);
        trace.startStage("commit");
        if (sendDeadLetters !== undefined) {
          await batch.checkPosition();
          invariant(batch.isChecked(), "no dead letter leaves before the position was checked");
          await sendDeadLetters();
        }
        await batch.commit();
        return;
      } catch (error) {
        if (!(await batch.canRetry(error))) throw error;
      }
    }
  } finally {
    await batch.end();
  }
}
