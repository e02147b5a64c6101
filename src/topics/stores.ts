import { getErrorMessage } from "../lib/errors.ts";
import type { BatchStore } from "../sync/positions.ts";
import type { RetiredTopic, Source, Topic, TopicDefinition } from "./topic.ts";
import type { TopicWrites } from "./snapshot.ts";

/**
 * A unique index rejected a write. Not every product names it: both rules of specification 4.3 are looked up.
 */
export class UniqueViolationError extends Error {
  override readonly name = "UniqueViolationError";

  constructor(cause: unknown) {
    super(`a unique index rejected the write: ${getErrorMessage(cause)}`, { cause });
  }
}

/** A topic to be changed is gone: a user disabled it meanwhile. */
export class TopicGoneError extends Error {
  override readonly name = "TopicGoneError";
}

/** The definition of a stored topic, and what changed it last. */
export interface StoredDefinition extends TopicDefinition {
  readonly sourceKind: Source["kind"];
}

/**
 * The store of topics. Every function throws UnavailableError while the store does not respond. A batch's
 * `write` throws UniqueViolationError when a unique index rejects it, and TopicGoneError when a topic to
 * update is gone. A missing position is derived from the stored topics, where batches are all or nothing.
 */
export interface TopicStore extends BatchStore<TopicWrites> {
  /** Waits until a majority has everything that was read from this primary; false when an election may have lost some of it. */
  confirmReads(primary: string | undefined): Promise<boolean>;
  /** Stores a new topic. Throws UniqueViolationError. */
  insert(topic: Topic): Promise<void>;
  findByExternalIds(externalIds: readonly string[]): Promise<Topic[]>;
  /** Reads less of them than `findByExternalIds`. */
  findDefinitions(externalIds: readonly string[]): Promise<StoredDefinition[]>;
  /** The topics that hold the combinations of these definitions, and perhaps others. */
  findByCombinations(definitions: readonly TopicDefinition[]): Promise<Topic[]>;
}

/** The store of retired topics. Every function throws UnavailableError while the store does not respond. */
export interface RetiredTopicStore {
  /**
   * Moves a topic to the retired ones, all or nothing (where the store has transactions). Returns false, and
   * moves nothing, when the topic is gone or was changed since it was read.
   */
  retire(one: RetiredTopic): Promise<boolean>;
  /** The latest retired topic of each external id, if any, also where the id is active again. */
  findLatest(externalIds: readonly string[]): Promise<RetiredTopic[]>;
}
