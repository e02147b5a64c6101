import type { Broker } from "@topicsync/kafka/client";
import { getErrorMessage } from "@topicsync/lib/errors";
import { elapsed, repeat, sleep } from "@topicsync/lib/platform";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import type { LogStore } from "@topicsync/kafka";
import { createDeadLetterHandler, type DeadLetterOptions } from "../../../consumers/dead-letters/handler.ts";
import { createGroupConsumer } from "../../../consumers/group-consumer.ts";
import { createNotStoredError, type DeadLetterProgress } from "../../dead-letters/progress.ts";

/** The group reads the dead-letter topic into the database. */
export interface DeadLetterConsumerOptions extends DeadLetterOptions {
  readonly topic: string;
  /** What `topicsync positions` calls the reader. */
  readonly consumer: string;
  readonly broker: Pick<Broker, "createMember" | "watch" | "observe">;
  readonly logs: LogStore;
  readonly progress: DeadLetterProgress;
}

const restartDelayMs = 30_000;
const expiryIntervalMs = 60_000;

/**
 * Reads dead letters into the database as one member of the group, from its creation on. The sync does not
 * depend on it: without the rights to read them, a warning says so, and it tries again.
 */
export class DeadLetterConsumer {
  readonly #options: DeadLetterConsumerOptions;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  readonly #stopRemoving: () => void;
  #failure: string | undefined;

  constructor(options: DeadLetterConsumerOptions) {
    this.#options = options;
    this.#stopRemoving = repeat(expiryIntervalMs, () => {
      this.#removeExpired();
    });
    this.#ended = this.#readUntilStopped();
  }

  /** Why the last consumer ended, until the next one has started. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Resolves when the member has left its group. */
  async stop(): Promise<void> {
    this.#stopRemoving();
    this.#stopping.abort();
    await this.#ended;
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #readUntilStopped(): Promise<void> {
    const { topic, log } = this.#options;
    while (!this.#isStopping()) {
      try {
        await this.#readOnce();
      } catch (error) {
        if (this.#isStopping()) return;
        this.#failure = getErrorMessage(error);
        log.warn({ topic, reason: this.#failure }, "dead letters cannot be read, retrying");
        await sleep(restartDelayMs, this.#stopping.signal);
      }
    }
  }

  /** Returns when it is stopped. Throws why the consumer has died. */
  async #readOnce(): Promise<void> {
    const { topic, groupId, broker, logs, log } = this.#options;
    const stopped = Promise.withResolvers<undefined>();
    const died = new AbortController();
    const abort = AbortSignal.any([this.#stopping.signal, died.signal]);
    abort.addEventListener("abort", () => {
      if (died.signal.aborted) stopped.reject(died.signal.reason);
      else stopped.resolve(undefined);
    });
    const consumer = createGroupConsumer({
      member: broker.createMember({ topic, groupId, commitsOffsets: true }),
      watch: broker.watch(topic),
      logs,
      consumer: this.#options.consumer,
      createHandler: (partition) => createDeadLetterHandler(partition, this.#options),
      log,
      onDied: (error) => {
        died.abort(error);
      },
    });
    try {
      // A consumer that has died must not be started again: the abort ends the retries.
      const starting = retryUntilAvailable(() => consumer.start(), { what: "Kafka", abort, log });
      await Promise.race([starting, stopped.promise]);
      this.#failure = undefined;
      await stopped.promise;
    } finally {
      await consumer.stop();
    }
  }

  #removeExpired(): void {
    const { topic, progress, log } = this.#options;
    progress.removeExpired().catch((error: unknown) => {
      log.debug({ topic, reason: getErrorMessage(error) }, "expired dead letters not removed");
    });
  }
}

const ownerCheckIntervalMs = 1_000;
const stallTimeoutMs = 60_000;
const stalled = "none was stored for a minute, see the log of the service";

/**
 * Waits until every dead letter is stored that Kafka has now, and reads them itself while no service does.
 * Throws NotLoadedError when that fails, or when nothing is stored for a minute.
 */
export async function readToEnd(
  options: DeadLetterConsumerOptions,
  onProgress: (read: number, total: number) => void,
): Promise<number> {
  const { topic, groupId, broker, progress } = options;
  const observer = broker.observe({ topic, groupId });
  let consumer: DeadLetterConsumer | undefined;
  let first: number | undefined;
  const stall = new StallWatch();
  let checkedAt = -Infinity;
  try {
    const unread = await progress.waitUntilStored(Infinity, async (unread) => {
      first ??= unread;
      onProgress(first - unread, first);
      if (consumer?.failure !== undefined) throw createNotStoredError(unread, consumer.failure);
      stall.check(unread);
      if (consumer !== undefined || elapsed() - checkedAt < ownerCheckIntervalMs) return;
      checkedAt = elapsed();
      if ((await observer.fetchOwners()).size === 0) consumer = new DeadLetterConsumer(options);
    });
    if (first !== undefined) onProgress(first, first);
    return unread;
  } finally {
    await consumer?.stop();
  }
}

class StallWatch {
  #last = Infinity;
  #movedAt = elapsed();

  /** Throws NotLoadedError when the number has not become smaller for too long. */
  check(unread: number): void {
    if (unread < this.#last) this.#movedAt = elapsed();
    else if (elapsed() - this.#movedAt > stallTimeoutMs) throw createNotStoredError(unread, stalled);
    this.#last = unread;
  }
}
