import type { FilterTexts } from "@topicsync/filters";
import type { TopicDefinition } from "../topic.ts";

/** What the index keeps of a stored topic. */
export interface IndexedTopic extends FilterTexts {
  readonly externalId: string;
  readonly namespace: string;
}

/** The fields of a stored topic that picking needs. */
export interface PickableTopic extends TopicDefinition {
  readonly id: string;
}

/** A topic that was changed or removed. */
export interface TopicChange {
  readonly externalId: string;
  /** `sys_updated_on` in milliseconds since 1970; undefined if the topic was removed. */
  readonly updatedOn: number | undefined;
}

/** The stored topics and every change to them, by any process. */
export interface TopicFeed {
  /** Streams all topics, in batches that are small enough to be indexed at once. Throws UnavailableError. */
  streamAll(): AsyncIterable<readonly IndexedTopic[]>;
  /** Throws UnavailableError. */
  find(externalIds: readonly string[]): Promise<readonly PickableTopic[]>;
  /**
   * Reports every change after it resolves. Calls `onLost` once and ends when changes may have been missed,
   * but not once it has thrown or was closed. Throws UnavailableError.
   */
  follow(listener: FeedListener): Promise<Following>;
}

export interface FeedListener {
  readonly onChanged: (changes: readonly TopicChange[]) => void;
  readonly onLost: (error: unknown) => void;
}

export interface Following {
  close(): Promise<void>;
}
