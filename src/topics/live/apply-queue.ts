import { Turns } from "@topicsync/lib/concurrency/turns";
import type { IndexedTopic } from "./feed.ts";
import type { TopicIndex } from "./topic-index.ts";

/** A topic to bring up to date. */
interface PendingTopic {
  readonly externalId: string;
  /** Undefined removes it. */
  readonly topic: IndexedTopic | undefined;
  /** Those in use when it was added: a later one was loaded with this version, or a newer one. */
  readonly indexes: readonly TopicIndex[];
}

/**
 * Brings topics up to date, in the order in which they were added. What one turn of the event loop can take
 * is applied at once: a change of hundreds of topics with large patterns would stop all else.
 */
export class ApplyQueue {
  #pending: PendingTopic[] = [];
  #isRunning = false;
  #done: Promise<void> = Promise.resolve();

  add(pending: PendingTopic): void {
    this.#pending.push(pending);
  }

  /** Resolves once everything that was added is applied. */
  run(): Promise<void> {
    if (!this.#isRunning) this.#done = this.#applyAll();
    return this.#done;
  }

  async #applyAll(): Promise<void> {
    this.#isRunning = true;
    const turns = new Turns();
    try {
      while (this.#pending.length > 0) {
        const batch = this.#pending;
        this.#pending = [];
        for (const pending of batch) {
          apply(pending);
          if (turns.isOver()) await turns.next();
        }
      }
    } finally {
      this.#isRunning = false;
    }
  }
}

function apply({ externalId, topic, indexes }: PendingTopic): void {
  for (const index of indexes) {
    if (topic === undefined) index.delete(externalId);
    else index.set(topic);
  }
}
