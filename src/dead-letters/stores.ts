import type { AnnouncementSource } from "../topics/topic.ts";
import type { Partition, RecordPosition } from "../sync/records.ts";

/** One sending of a letter back to the announcements topic. */
export interface Replay {
  /** See `replayIdAfter`. */
  readonly id: string;
  /** The letter's id. */
  readonly letter: string;
  readonly on: Date;
  /** "sending" until the broker acknowledged it: after a crash in between, nobody knows. */
  readonly state: "sending" | "sent";
  /**
   * The offset is absent while it is being sent; the partition as well, where the broker chooses it. The epoch is that of the
   * position at that time; absent for the first.
   */
  readonly sentTo: Pick<RecordPosition, "topic"> & Partial<RecordPosition>;
}

/** Remembers what was replayed. Every function throws UnavailableError while the store does not answer. */
export interface ReplayStore {
  /** Replays of these letters, the oldest first. */
  of(letters: readonly string[]): Promise<Replay[]>;
  /** Remembers that these begin to be sent. Gives the ids of those that somebody else has begun: they must not be sent. */
  begin(replays: readonly Replay[]): Promise<ReadonlySet<string>>;
  sent(replays: readonly Replay[]): Promise<void>;
  /** Forgets replays of which it is certain that nothing was sent. */
  forget(replays: readonly Replay[]): Promise<void>;
}

/** The record that made a topic what it is now, or retired it. */
export interface TopicState {
  readonly externalId: string;
  readonly by: AnnouncementSource;
  readonly retired: boolean;
  /** Set while the sync has not come to it: the id of the letter that the record is a replay of, where it is one. */
  readonly waiting?: { readonly replayOf: string | undefined };
}

/** How far the sync has come in a partition. */
export interface SyncPosition extends Partition {
  /** The offset of the next record to apply. */
  readonly nextOffset: number;
  /** The epoch of the log that the offset belongs to; see Position. */
  readonly epoch: number;
}

/** How far the sync has come. Every function throws UnavailableError while the store does not answer. */
export interface SyncState {
  /** Of each partition that was read. */
  positions(): Promise<readonly SyncPosition[]>;
  /** What the channel made of the topics with these external ids, stored and retired ones. */
  topics(externalIds: readonly string[]): Promise<TopicState[]>;
}
