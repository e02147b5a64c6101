import type {
  BatchStore,
  Position,
  PositionKey,
  PositionStep,
  Partition,
  PartitionOffset,
  RecordPosition,
} from "@topicsync/kafka";
import type { AnnouncementSource } from "../topics/topic.ts";
import type { Namespaces } from "../users/rights.ts";
import type { DeadLetterSummary, StoredDeadLetter } from "./summary.ts";

/** One attempt to send a dead letter back to the topic it came from. */
export interface Replay {
  readonly deadLetterId: string;
  /**
   * 1 for the first. The store accepts each attempt once, so that two concurrent replays do not both send.
   */
  readonly attempt: number;
  readonly startedAt: Date;
  /**
   * "sending" until the broker has acknowledged it. After a crash in between it is unknown whether it was
   * sent.
   */
  readonly state: "sending" | "sent";
  /**
   * Without an offset while it is sent, and without a partition where the broker chooses it. The epoch is
   * that of the sync's position at that time.
   */
  readonly sentTo: Pick<RecordPosition, "topic"> & Partial<RecordPosition>;
}

/** Remembers replays. Every function throws UnavailableError while the store does not respond. */
export interface ReplayStore {
  /** The replays of these dead letters, the first attempt first. */
  find(deadLetterIds: readonly string[]): Promise<Replay[]>;
  /** The replays that were sent to these positions, in any epoch. */
  findSent(positions: readonly RecordPosition[]): Promise<Replay[]>;
  /**
   * Claims these attempts. Returns the dead letters whose attempt was claimed before: they must not be sent.
   */
  begin(replays: readonly Replay[]): Promise<ReadonlySet<string>>;
  markSent(replays: readonly Replay[]): Promise<void>;
  /** Removes replays that are known not to have been sent. */
  remove(replays: readonly Replay[]): Promise<void>;
}

/** The announcement that last changed or retired a topic. */
export interface TopicState {
  readonly externalId: string;
  readonly by: AnnouncementSource;
  readonly retired: boolean;
  /** Set while the sync has not applied it. `replayOf`: the dead letter that it is a replay of. */
  readonly pending?: { readonly replayOf: string | undefined };
}

/** How far the sync has come in a partition. */
export interface SyncPosition extends Partition, Position {}

/** Reads the state of the sync. Every function throws UnavailableError while the store does not respond. */
export interface SyncState {
  /** One per partition that has been read. */
  findPositions(): Promise<readonly SyncPosition[]>;
  /** The states of announced topics with these external ids, active and retired. */
  findTopics(externalIds: readonly string[]): Promise<TopicState[]>;
  /** Which of these external ids belong to active topics outside these namespaces. */
  findForeign(externalIds: readonly string[], namespaces: Namespaces): Promise<ReadonlySet<string>>;
}

/** Which dead letters to find. Absent members match every one. */
export interface DeadLetterFilter {
  readonly codes?: readonly string[] | undefined;
  /** Written at this time or later. A dead letter without a time is neither old nor new. */
  readonly from?: Date | undefined;
  /** Written at this time or earlier. */
  readonly to?: Date | undefined;
  /** Of topics in one of these. */
  readonly namespaces: Namespaces;
}

/** The position in a list, newest first; no two dead letters share a key. */
export interface DeadLetterKey {
  readonly rank: number;
  readonly partition: number;
  readonly offset: number;
}

export interface DeadLetterRange {
  /** The key of the last one before. */
  readonly after?: DeadLetterKey | undefined;
  /** How many are read at a time. */
  readonly batchSize: number;
  readonly limit: number;
}

/** The stored dead letters of one dead-letter topic. Every function throws UnavailableError. */
export interface DeadLetterReader {
  find(ids: readonly string[]): Promise<StoredDeadLetter[]>;
  /** Streams in batches, newest first, with one query. */
  stream(filter: DeadLetterFilter, range: DeadLetterRange): AsyncGenerator<readonly StoredDeadLetter[]>;
  /** Up to `maxCounted` of each code. */
  countByCode(namespaces: Namespaces): Promise<Record<string, number>>;
  /** Removes the dead letters of a partition before an offset that were read up to this epoch. */
  removeBefore(position: PartitionOffset & Pick<Position, "epoch">): Promise<void>;
}

/** What a batch stores. */
export interface DeadLetterWrites {
  readonly key: PositionKey;
  readonly summaries: readonly DeadLetterSummary[];
  /** The epoch of the log that they were read from. */
  readonly epoch: number;
}

/**
 * Writes a batch of dead letters together with the position after it. Every function throws UnavailableError.
 */
export interface DeadLetterStore extends BatchStore<DeadLetterWrites> {
  /** The rank of the last dead letter that was stored; 0 without one. */
  findLastRank(key: PositionKey): Promise<number>;
  /**
   * Removes what a step leaves behind: the dead letters of a log that was replaced, and those that Kafka has
   * lost.
   */
  removeReplaced(step: PositionStep): Promise<void>;
}
