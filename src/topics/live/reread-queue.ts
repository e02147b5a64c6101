import { UnavailableError } from "@topicsync/lib/errors";
import { invariant } from "@topicsync/lib/invariant";
import { sleep } from "@topicsync/lib/platform";
import { Turns } from "@topicsync/lib/concurrency/turns";
import type { IndexedTopic, TopicFeed } from "./feed.ts";

interface RereadQueueOptions {
  readonly find: TopicFeed["find"];
  /** Receives each topic that was read; undefined if it does not exist. */
  readonly onRead: (externalId: string, topic: IndexedTopic | undefined) => void;
  /** A read failed for another reason than an outage. It is repeated. */
  readonly onFailed: (error: unknown) => void;
}

const topicsPerRead = 1_000;
const retryDelayMs = 1_000;

/**
 * The topics that have changed and are to be read again, one read at a time.
 *
 * Invariant: a topic that was added stays in the queue until a read that began later has found it, or
 * `overtake` says that its newest version is known.
 */
export class RereadQueue {
  readonly #options: RereadQueueOptions;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<string>();
  /** What the read in progress is for, without the topics whose result no longer counts. */
  #reading = new Set<string>();
  #loop: Promise<void> | undefined;
  /** What `catchUp` still waits for. */
  #unconfirmed: { readonly ids: Set<string>; readonly resolve: () => void } | undefined;

  constructor(options: RereadQueueOptions) {
    this.#options = options;
  }

  add(externalIds: Iterable<string>): void {
    // Once closed, nothing reads them any more.
    if (this.#closing.signal.aborted) return;
    for (const id of externalIds) this.#waiting.add(id);
    if (this.#waiting.size > 0) this.#loop ??= this.#readAll();
  }

  has(externalId: string): boolean {
    return this.#waiting.has(externalId) || this.#reading.has(externalId);
  }

  /**
   * The newest version of a topic is known now. A read in progress may find an older one, so its result is
   * ignored.
   */
  overtake(externalId: string): void {
    this.#reading.delete(externalId);
    this.#confirm(externalId);
  }

  /** Ignores the result of a read in progress, and reads its topics once more. */
  restart(): void {
    const interrupted = this.#reading;
    this.#reading = new Set();
    this.add(interrupted);
  }

  /**
   * Restarts, and resolves once all topics that are in the queue now were read. A later call replaces this
   * one.
   */
  async catchUp(): Promise<void> {
    this.restart();
    if (this.#waiting.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#unconfirmed = {
      ids: new Set(this.#waiting),
      resolve: () => {
        resolve(undefined);
      },
    };
    await promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop;
  }

  #confirm(externalId: string): void {
    if (this.#unconfirmed?.ids.delete(externalId) === true && this.#unconfirmed.ids.size === 0)
      this.#unconfirmed.resolve();
  }

  async #readAll(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#waiting.size > 0 && !signal.aborted) {
      try {
        await this.#readSome();
      } catch (error) {
        this.restart();
        // An outage ends the feed as well. Nothing else would say that changes are not known.
        if (!(error instanceof UnavailableError)) this.#options.onFailed(error);
        await sleep(retryDelayMs, signal);
      }
    }
    this.#loop = undefined;
  }

  async #readSome(): Promise<void> {
    invariant(this.#reading.size === 0, "one read is in progress at a time");
    const reading = new Set([...this.#waiting].slice(0, topicsPerRead));
    this.#reading = reading;
    for (const id of reading) this.#waiting.delete(id);
    const topics = await this.#options.find([...reading]);
    const found = new Map(topics.map((topic) => [topic.externalId, topic]));
    const turns = new Turns();
    // Overtaken topics are missing here.
    for (const id of reading) {
      if (this.#reading !== reading) return;
      this.#options.onRead(id, found.get(id));
      this.overtake(id);
      if (turns.isOver()) await turns.next();
    }
    // After a restart, all of them are read once more.
    if (this.#reading !== reading) return;
    invariant(this.#reading.size === 0, "every topic that was read is applied");
  }
}
