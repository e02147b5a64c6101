import { getErrorMessage } from "@topicsync/lib/errors";
import { BatchConflictError, type BatchStore } from "@topicsync/kafka";
import type { RetiredTopic, Source, Topic, TopicDefinition } from "./topic.ts";
import type { TopicWrites } from "./snapshot.ts";

/**
 * A unique index rejected a write. Some servers do not say which index, so check both rules of specification
 * 4.3.
 */
export class UniqueViolationError extends BatchConflictError {
  override readonly name = "UniqueViolationError";

  constructor(cause: unknown) {
    super(`a unique index rejected the write: ${getErrorMessage(cause)}`, { cause });
  }
}

/** A topic to be changed is gone, or has another version: a user has changed it since it was read. */
export class TopicGoneError extends BatchConflictError {
  override readonly name = "TopicGoneError";
}

/** The definition of a stored topic, and what changed it last. */
export interface StoredDefinition extends TopicDefinition {
  readonly sourceKind: Source["kind"];
}

/** A topic before and after it got another external id. */
export interface RenamedTopic {
  readonly from: Topic;
  readonly to: Topic;
}

/** What users change at once. */
export interface ChangeWrites extends TopicWrites {
  /** Retirements that end with the writes: their topics are among `created`. */
  readonly enabled: readonly RetiredTopic[];
  /** Their details and usage get the new external ids, too. */
  readonly renamed: readonly RenamedTopic[];
}

/** A transaction, for writes of other stores that belong to it. Without a session, the store has none. */
export interface StoreTransaction {
  readonly session?: object;
}

/** Writes of another store, to be part of a transaction. May be called again after a conflict. */
export type FurtherWrites = (transaction: StoreTransaction) => Promise<void>;

/** Topics, active and retired. Every function throws UnavailableError while the store does not respond. */
export interface TopicTable {
  /** Identifies the primary and its term; changes with each election. Undefined if unknown. */
  getPrimary(): string | undefined;
  /**
   * Waits until everything read from this primary is majority-committed. Returns false if an election may
   * have rolled some of it back.
   */
  confirmReads(primary: string | undefined): Promise<boolean>;
  /** Stores a new topic. Throws UniqueViolationError. */
  insert(topic: Topic): Promise<void>;
  findByExternalIds(externalIds: readonly string[]): Promise<Topic[]>;
  /** Reads less of them than `findByExternalIds`. */
  findDefinitions(externalIds: readonly string[]): Promise<StoredDefinition[]>;
  /** The topics that hold the combinations of these definitions, and perhaps others. */
  findByCombinations(definitions: readonly TopicDefinition[]): Promise<Topic[]>;
  /**
   * Stores all writes or none; without transactions, one after another. Throws TopicGoneError when a topic to
   * change does not have the version and the definition that was read any more, and UniqueViolationError.
   */
  change(writes: ChangeWrites, further?: FurtherWrites): Promise<void>;
  /**
   * The latest retired topic of each external id, unless that was enabled again. Another topic may have the
   * external id now.
   */
  findLatestRetired(externalIds: readonly string[]): Promise<RetiredTopic[]>;
}

/**
 * Topics, and how far the channel was read. A batch's `write` throws UniqueViolationError when a unique index
 * rejects it, and TopicGoneError when a topic to update is gone. A missing position is derived from the
 * stored topics, where batches are all or nothing.
 */
export interface TopicStore extends BatchStore<TopicWrites>, TopicTable {}
