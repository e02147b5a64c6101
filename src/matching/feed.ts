import type { FilterTexts } from "./filter/topic-filters.ts";

/** A stored topic, as far as picking needs it. */
export interface PickableTopic extends FilterTexts {
  readonly id: string;
  readonly externalId: string;
  readonly name: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

/** A topic that may have changed, or gone. */
export interface TopicChange {
  readonly externalId: string;
  /** Its `sys_updated_on` in milliseconds since 1970; undefined when it is gone. */
  readonly updatedOn: number | undefined;
}

/** The stored topics, and what happens to them, whoever does it. */
export interface TopicFeed {
  /** All of them, one after another. Throws UnavailableError. */
  all(): AsyncIterable<PickableTopic>;
  /** Throws UnavailableError. */
  find(externalIds: readonly string[]): Promise<readonly PickableTopic[]>;
  /**
   * Tells what changes, from the moment that it resolves on. When it cannot go on, so that something may have been missed, it
   * says that it is lost, once, and ends. Throws UnavailableError.
   */
  follow(listener: FeedListener): Promise<Following>;
}

export interface FeedListener {
  readonly changed: (changes: readonly TopicChange[]) => void;
  readonly lost: (error: unknown) => void;
}

export interface Following {
  close(): Promise<void>;
}
