import type { Partition } from "./records.ts";
import type { Stage } from "../tracing/tracing.ts";

/** Another consumer moved this partition's position: what this one decided is out of date, and nothing was stored. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** One consumer group in one partition. */
export interface PositionKey extends Partition {
  readonly group: string;
}

/** How far a group has come in a partition. */
export interface Position {
  /** The offset of the next record to apply. */
  readonly offset: number;
  /**
   * The epoch of the log that the offset belongs to. The first is 1; a Kafka topic that is deleted and created again
   * begins the next. Offsets of different epochs cannot be compared.
   */
  readonly epoch: number;
  /**
   * The largest timestamp of the records before `offset`, in milliseconds since 1970. Within an epoch, every newer record
   * lies at `offset` or after it. Absent when it is not known.
   */
  readonly newest?: number;
}

/** A position as its new owner finds it. */
export interface ClaimedPosition extends Position {
  /** Whether this process moved it last. */
  readonly isOurs: boolean;
  /** When it was moved last; undefined where that is not known. */
  readonly movedOn?: Date | undefined;
}

/** The step that a position takes with a batch of records. */
export interface PositionStep {
  readonly key: PositionKey;
  /** The position that the batch started from; undefined when there was none. */
  readonly from: Position | undefined;
  /** The position after the batch. */
  readonly to: Position;
  /** Told what is done with the batch from now on, where somebody traces it. */
  readonly entered?: ((stage: Stage) => void) | undefined;
}

/** What is stored together with the step of a position: all of it or nothing, where the store has transactions. */
export interface BatchStep extends PositionStep {
  /**
   * Runs once the store has taken every write, before they count: the place to send dead letters from. It runs only if
   * the position was still `from` after the batch was decided. Undefined when there is nothing to do.
   */
  readonly beforeCommit: (() => Promise<void>) | undefined;
}

/** Where positions are kept, beside what the records made. Every function throws UnavailableError. */
export interface PositionStore {
  /**
   * Takes a partition over and gives its position; undefined when the group never applied a record of it. A position
   * that is missing may be derived from what records of the partition left behind. Transactions that whoever had the
   * partition before left open are ended: they would hold their records for a minute. A batch of the partition that this
   * process is still writing is waited for.
   */
  claim(key: PositionKey): Promise<ClaimedPosition | undefined>;
  /** The positions of a group in the partitions of a Kafka topic. */
  positions(group: string, topic: string): Promise<ReadonlyMap<number, Position>>;
}
