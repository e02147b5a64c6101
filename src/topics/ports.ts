import type { TopicWrites } from "./decide.ts";
import type { Partition, Topic, TopicDefinition } from "./topic.ts";

/** A unique index objected: which of the two rules of specification 4.3 would have been broken. */
export class NotUnique extends Error {
  override readonly name = "NotUnique";
  readonly rule: "externalId" | "combination";

  constructor(rule: NotUnique["rule"], cause: unknown) {
    super(`a unique index objected: ${rule}`, { cause });
    this.rule = rule;
  }
}

/** Another consumer moved this partition's position: what this one decided is out of date, and nothing was stored. */
export class Fenced extends Error {
  override readonly name = "Fenced";
}

/** One consumer group's place in one partition. */
export interface PositionKey extends Partition {
  readonly group: string;
}

/** A batch that was decided, with the step that it makes the position take. */
export interface BatchWrite {
  readonly key: PositionKey;
  /** The position that the batch started from; undefined when there was none. */
  readonly from: number | undefined;
  /** The position after the batch. */
  readonly to: number;
  readonly writes: TopicWrites;
  /** Runs once the store has taken every write, before they count: the place to send dead letters from. */
  readonly beforeCommit: () => Promise<void>;
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
   * Takes a partition over and gives the offset of the next record to apply; undefined when the group never applied one.
   * A transaction that whoever had the partition before left open is ended: it would hold its records for a minute.
   */
  claim(key: PositionKey): Promise<number | undefined>;
  /**
   * Stores a batch and its position, all or nothing (where the store has transactions).
   * Throws NotUnique when an index objects, Fenced when the position is not `from` any more.
   */
  applyBatch(batch: BatchWrite): Promise<void>;
}
