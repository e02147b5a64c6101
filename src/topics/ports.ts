import type { Partition, RetiredTopic, Topic, TopicDefinition } from "./topic.ts";
import type { TopicWrites } from "./view.ts";

/** A unique index objected: which of the two rules of specification 4.3 would have been broken. */
export class NotUnique extends Error {
  override readonly name = "NotUnique";
  readonly rule: "externalId" | "combination";

  constructor(rule: NotUnique["rule"], cause: unknown) {
    super(`a unique index objected: ${rule}`, { cause });
    this.rule = rule;
  }
}

/** A topic that was to be changed is not there any more: a user disabled it meanwhile. */
export class Vanished extends Error {
  override readonly name = "Vanished";
}

/** Another consumer moved this partition's position: what this one decided is out of date, and nothing was stored. */
export class Fenced extends Error {
  override readonly name = "Fenced";
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
   * Which log of the partition the offset is of: 1, and one more each time that the log turned out to be made anew under
   * the same name. Offsets of different logs say nothing of what came later.
   */
  readonly log: number;
  /**
   * The largest timestamp of a record before `offset`, in milliseconds since 1970: in the same log, whatever is newer lies
   * at `offset` or behind it. Absent when it is not known.
   */
  readonly newest?: number;
}

/** A batch that was decided, with the step that it makes the position take. */
export interface BatchWrite {
  readonly key: PositionKey;
  /** The position that the batch started from; undefined when there was none. */
  readonly from: Position | undefined;
  /** The position after the batch. */
  readonly to: Position;
  readonly writes: TopicWrites;
  /**
   * Runs once the store has taken every write, before they count: the place to send dead letters from. It runs only if
   * the position was still `from` after the batch was decided. Undefined when there is nothing to do.
   */
  readonly beforeCommit: (() => Promise<void>) | undefined;
}

/**
 * Where topics are kept. Every function throws Unavailable while the store does not answer.
 */
export interface TopicStore {
  /** Stores a new topic. Throws NotUnique. */
  insert(topic: Topic): Promise<void>;
  findByExternalIds(externalIds: readonly string[]): Promise<Topic[]>;
  /** The topics that hold the combinations of these definitions. */
  findByCombinations(definitions: readonly TopicDefinition[]): Promise<Topic[]>;
  /**
   * Takes a partition over and gives its position; undefined when the group never applied a record of it. A position
   * that is missing although records of the partition are stored is derived from these, where batches are all or nothing.
   * A transaction that whoever had the partition before left open is ended: it would hold its records for a minute.
   */
  claim(key: PositionKey): Promise<Position | undefined>;
  /** The positions of a group in the partitions of a Kafka topic. */
  positions(group: string, topic: string): Promise<ReadonlyMap<number, Position>>;
  /**
   * Stores a batch and its position, all or nothing (where the store has transactions).
   * Throws NotUnique when an index objects, Vanished when a topic to update is gone, Fenced when the position is not
   * `from` any more.
   */
  applyBatch(batch: BatchWrite): Promise<void>;
}

/** Where retired topics are kept. Every function throws Unavailable while the store does not answer. */
export interface RetiredTopicStore {
  /**
   * Moves a topic to the retired ones, all or nothing (where the store has transactions). False, and nothing is moved,
   * when it is not there any more as it was read.
   */
  retire(one: RetiredTopic): Promise<boolean>;
  /** For each of these external ids the topic that was retired last, if any. Those that are active again are among them. */
  lastOf(externalIds: readonly string[]): Promise<RetiredTopic[]>;
}
