import { UnavailableError } from "@topicsync/lib/errors";
import type { Partition } from "./records.ts";

/** Another consumer moved the position: the batch was decided on outdated data, and nothing is stored. */
export class FencedError extends Error {
  override readonly name = "FencedError";
}

/** What the batch was decided on has changed in the store: it has to be decided again, on newer data. */
export abstract class BatchConflictError extends Error {}

/** The batch was decided on reads from a former primary, which may have been rolled back. Decide it again. */
export class PrimaryChangedError extends UnavailableError {}

/** One consumer group in one partition. */
export interface PositionKey extends Partition {
  readonly group: string;
}

/** The position of a group in a partition. */
export interface Position {
  /** The offset of the next record to apply. */
  readonly offset: number;
  /**
   * The epoch of the log that the offset belongs to. The first is 1; a Kafka topic that is deleted and
   * created again begins the next. Offsets of different epochs cannot be compared.
   */
  readonly epoch: number;
  /**
   * Kafka's id of the topic that the log belongs to. Undefined where brokers have none, and for a position
   * that a person set: it counts for the log that is there.
   */
  readonly topicId?: string | undefined;
  /** Kafka's id of the cluster that has the log. Undefined where that is not known. */
  readonly clusterId?: string | undefined;
}

/** Whether a position is the same as another, or a later one: in the same epoch, or in a later epoch. */
export const isAtOrAfter = (one: Position, other: Position): boolean =>
  one.epoch === other.epoch ? one.offset >= other.offset : one.epoch > other.epoch;

/** A position that was claimed. */
export interface ClaimedPosition extends Position {
  /** Whether the last write that this process began has moved it. */
  readonly isOurs: boolean;
  /** When it was moved last; undefined where that is not known. */
  readonly movedOn?: Date | undefined;
}

/** The change of a position by a batch of records. */
export interface PositionStep {
  readonly key: PositionKey;
  /** The position that the batch started from; undefined when there was none. */
  readonly from: Position | undefined;
  /** The position after the batch. */
  readonly to: Position;
  /**
   * The primary on whose data the batch was decided; undefined when it was decided without, or that is not
   * known.
   */
  readonly primary?: string | undefined;
}

/** The store of positions, next to the applied data. Every function throws UnavailableError. */
export interface PositionStore {
  /**
   * Takes a partition over and returns its position; undefined when the group never applied a record of it. A
   * missing position may be derived from stored data. Aborts transactions that former owners left open, since
   * they would hold their records for a minute, and waits for a batch of the partition that this process is
   * still writing.
   */
  claim(key: PositionKey): Promise<ClaimedPosition | undefined>;
  /** Reads a position without taking the partition over; undefined when there is none. */
  findPosition(key: PositionKey): Promise<Position | undefined>;
  /** The positions of a group in the partitions of a Kafka topic. */
  findPositions(group: string, topic: string): Promise<ReadonlyMap<number, Position>>;
}

/** The epochs of logs, by topic id. Every function throws UnavailableError. */
export interface LogStore {
  /**
   * The epoch of a log; undefined when none was allotted. What is returned cannot be lost by an election.
   * Also notes that the partition is read in this log.
   */
  findEpoch(partition: Partition, topicId: string): Promise<number | undefined>;
  /**
   * Allots the next epoch of a Kafka topic to a log, at least `lowest`: after those of all known logs, or,
   * for the first log, that of the stored positions, which were moved before ids were known. Returns the
   * epoch that the log has if that is high enough. Also notes that the partition is read in this log.
   */
  beginEpoch(partition: Partition, log: NewLog, lowest: number): Promise<number>;
  /** The known logs of a Kafka topic whose cluster is known. */
  findLogs(topic: string): Promise<readonly KnownLog[]>;
}

export interface NewLog {
  readonly topicId: string;
  readonly clusterId: string | null;
  /** How many partitions the Kafka topic has. */
  readonly partitions: number;
}

export interface KnownLog {
  readonly topicId: string;
  readonly clusterId: string;
  /** Whether reading a partition of it has begun, or the partition is younger than the log. */
  hasBegun(partition: number): boolean;
}

/**
 * The unit of work that stores a batch together with its position: all of it or nothing, where the store has
 * transactions. The steps, in this order: `write`, `checkPosition`, `commit`, `end`. Every step throws
 * UnavailableError.
 */
export interface BatchTransaction<Writes> {
  /**
   * Writes; what unique indexes accept here counts only after `commit`. Throws BatchConflictError when stored
   * records do not allow it; so does `commit`.
   */
  write(writes: Writes): Promise<void>;
  /**
   * Throws FencedError unless the position is still where the batch starts. Required before anything that
   * cannot be taken back: another consumer may have moved the position, and written what the batch was
   * decided on.
   */
  checkPosition(): Promise<void>;
  /** Whether the current attempt has checked the position. */
  isChecked(): boolean;
  /**
   * Moves the position and commits. Throws FencedError when the position is not where the batch starts, and
   * PrimaryChangedError when the store has elected another primary since the batch was decided; so does
   * `checkPosition`.
   */
  commit(): Promise<void>;
  /**
   * Whether the steps can be repeated from `write` on after this error: the store aborted the transaction in
   * favour of another. Waits a moment first.
   */
  canRetry(error: unknown): Promise<boolean>;
  /** Aborts what is not committed. The partition's next batch or claim waits for it. Never throws. */
  end(): Promise<void>;
}

/** A store that takes batches of records. */
export interface BatchStore<Writes> extends PositionStore {
  /** Sets a position on behalf of a person. Returns false if it is not `from` any more. */
  setPosition(key: PositionKey, from: Position | undefined, to: Position): Promise<boolean>;
  /** Begins to store a batch, once the previous one has ended. */
  begin(step: PositionStep): Promise<BatchTransaction<Writes>>;
  /** Identifies the primary and its term; changes with each election. Undefined if unknown. */
  getPrimary(): string | undefined;
}

/** Whether both are the same place of the same log. */
export const isSamePosition = (one: Position | undefined, other: Position | undefined): boolean =>
  one?.offset === other?.offset && one?.epoch === other?.epoch;
