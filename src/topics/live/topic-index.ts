import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { FilterSyntaxError, createCountingPicker } from "@topicsync/filters";
import type { IndexedTopic } from "./feed.ts";

export interface IndexStatus {
  /** `live`: every change is known. */
  readonly mode: "idle" | "loading" | "live" | "reloading" | "closed";
  readonly topics: number;
  /** Of these, the topics without conditions: every event belongs to them. */
  readonly unconditional: number;
  /** The others, whose filters cannot be read. */
  readonly unreadable: number;
  /** Topics read by the load in progress; undefined without one. */
  readonly topicsRead: number | undefined;
}

export type TopicIndex = ReturnType<typeof createTopicIndex>;

/** A load of all topics that is in progress. */
export interface Load {
  readonly index: TopicIndex;
  /**
   * The topics that were written or read again since the load began, which may read older versions of them.
   */
  readonly applied: Set<string>;
  topicsRead: number;
}

/** A picker that leaves out topics whose filters cannot be read. */
export function createTopicIndex(log: Logger) {
  const picker = createCountingPicker();
  const unreadable = new Set<string>();
  return {
    picker,
    set(topic: IndexedTopic): void {
      const { externalId } = topic;
      try {
        picker.set(externalId, topic);
        unreadable.delete(externalId);
      } catch (error) {
        if (!(error instanceof FilterSyntaxError)) throw error;
        picker.delete(externalId);
        unreadable.add(externalId);
        log.warn({ externalId, reason: getErrorMessage(error) }, "topic not matched: unreadable filter");
      }
    },
    delete(externalId: string): void {
      picker.delete(externalId);
      unreadable.delete(externalId);
    },
    status: () => ({
      topics: picker.size,
      unconditional: picker.unconditional,
      unreadable: unreadable.size,
    }),
  };
}
