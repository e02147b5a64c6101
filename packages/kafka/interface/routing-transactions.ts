import type { ClaimedPosition, Position } from "./positions.ts";
import type { OutgoingRecord, SendRejection, SendResult } from "./records.ts";

/** A record for a partition of a Kafka topic. */
export interface RoutedRecord extends OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
}

/** Kafka rejects a record permanently. The transaction is lost, and the partition has to be claimed again. */
export class RecordRejectedError extends Error {
  override readonly name = "RecordRejectedError";
  readonly rejection: SendRejection;

  constructor(rejection: SendRejection) {
    super(rejection.message);
    this.rejection = rejection;
  }
}

/**
 * The transactional producer of one partition of the events topic. Its positions are the group's offsets,
 * which are committed together with the records.
 */
export interface RoutingTransactions {
  /**
   * Fences former owners of the partition, ends the transaction that they left open, and returns the
   * committed position. Required again after any failure: the outcome of the last transaction is unknown
   * until then. Throws UnavailableError.
   */
  claim(): Promise<ClaimedPosition | undefined>;
  /** Reads the committed position without taking the partition over. Throws UnavailableError. */
  findPosition(): Promise<Position | undefined>;
  /** Begins a transaction that moves the position. Throws UnavailableError and FencedError. */
  begin(to: Position): Promise<RoutingTransaction>;
  close(): Promise<void>;
}

/** A transaction. Every function throws UnavailableError and FencedError. */
export interface RoutingTransaction {
  /** Sends records, those for one partition in their order. Throws RecordRejectedError. */
  sendAll(records: Iterable<RoutedRecord>): Promise<void>;
  /** As `sendAll`, but returns a result for each record, in the same order. Slower. */
  sendEach(records: readonly RoutedRecord[]): Promise<readonly SendResult[]>;
  commit(): Promise<void>;
}

/** Why nothing can be forwarded to a Kafka topic. */
export interface EgressObstacle {
  /** It does not exist and could not be created, or it takes no records from this user. */
  readonly code: "NO_EGRESS_TOPIC" | "EGRESS_REJECTED";
  readonly reason: string;
}

/** The Kafka topics that events are forwarded to. */
export interface EgressTopics {
  /**
   * The number of partitions of each of these Kafka topics, or why it cannot be used. Throws
   * UnavailableError.
   */
  find(names: Iterable<string>): Promise<ReadonlyMap<string, number | EgressObstacle>>;
  /** Remembers for a while that the user may not write to a Kafka topic. */
  deny(name: string, reason: string): void;
  /** Looks all of them up again with the next `find`, except those that are remembered as denied. */
  forget(): void;
}
