import type { AnnouncementSource } from "../topics/topic.ts";
import type { Partition, RecordPosition } from "../sync/records.ts";

/** One attempt to send a dead letter back to the topic it came from. */
export interface Replay {
  readonly deadLetterId: string;
  /** 1 for the first. The store accepts each attempt once, so that two concurrent replays do not both send. */
  readonly attempt: number;
  readonly startedAt: Date;
  /** "sending" until the broker has acknowledged it. After a crash in between it is unknown whether it was sent. */
  readonly state: "sending" | "sent";
  /**
   * Without an offset while it is sent, and without a partition where the broker chooses it. The epoch is that of the sync's
   * position at that time.
   */
  readonly sentTo: Pick<RecordPosition, "topic"> & Partial<RecordPosition>;
}

/** Remembers replays. Every function throws UnavailableError while the store does not respond. */
export interface ReplayStore {
  /** The replays of these dead letters, the first attempt first. */
  find(deadLetterIds: readonly string[]): Promise<Replay[]>;
  /** Claims these attempts. Returns the dead letters whose attempt was claimed before: they must not be sent. */
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
export interface SyncPosition extends Partition {
  /** The offset of the next record to apply. */
  readonly nextOffset: number;
  /** See Position. */
  readonly epoch: number;
}

/** Reads the state of the sync. Every function throws UnavailableError while the store does not respond. */
export interface SyncState {
  /** One per partition that has been read. */
  findPositions(): Promise<readonly SyncPosition[]>;
  /** The states of announced topics with these external ids, active and retired. */
  findTopics(externalIds: readonly string[]): Promise<TopicState[]>;
}
