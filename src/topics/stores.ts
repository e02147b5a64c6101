import { getErrorMessage } from "../lib/errors.ts";
import type { BatchStep, PositionStore } from "../sync/positions.ts";
import type { RetiredTopic, Topic, TopicDefinition } from "./topic.ts";
import type { TopicWrites } from "./snapshot.ts";

/** A unique index objected. Which one is not known: both rules of specification 4.3 have to be looked up. */
export class UniqueViolationError extends Error {
  override readonly name = "UniqueViolationError";

  constructor(cause: unknown) {
    super(`a unique index objected: ${getErrorMessage(cause)}`, { cause });
  }
}

/** A topic that was to be changed is not there any more: a user disabled it meanwhile. */
export class TopicGoneError extends Error {
  override readonly name = "TopicGoneError";
}

/** A batch that was decided, with the step that it makes the position take. */
export interface BatchWrite extends BatchStep {
  readonly writes: TopicWrites;
}

/**
 * Where topics are kept. Every function throws UnavailableError while the store does not answer. A position that is missing although
 * records of the partition are stored is derived from these, where batches are all or nothing.
 */
export interface TopicStore extends PositionStore {
  /** Stores a new topic. Throws UniqueViolationError. */
  insert(topic: Topic): Promise<void>;
  findByExternalIds(externalIds: readonly string[]): Promise<Topic[]>;
  /** The topics that hold the combinations of these definitions. */
  findByCombinations(definitions: readonly TopicDefinition[]): Promise<Topic[]>;
  /**
   * Stores a batch and its position, all or nothing (where the store has transactions).
   * Throws UniqueViolationError when an index objects, TopicGoneError when a topic to update is gone, FencedError when the position is not
   * `from` any more.
   */
  applyBatch(batch: BatchWrite): Promise<void>;
}

/** Where retired topics are kept. Every function throws UnavailableError while the store does not answer. */
export interface RetiredTopicStore {
  /**
   * Moves a topic to the retired ones, all or nothing (where the store has transactions). False, and nothing is moved,
   * when it is not there any more as it was read.
   */
  retire(one: RetiredTopic): Promise<boolean>;
  /** For each of these external ids the topic that was retired last, if any. Those that are active again are among them. */
  lastOf(externalIds: readonly string[]): Promise<RetiredTopic[]>;
}
