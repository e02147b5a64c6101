import { createDeadLetterHandler } from "../../consumers/dead-letters/handler.ts";
import { createGroupConsumer } from "../../consumers/group-consumer.ts";
import type { IdentifyTopic } from "../dead-letters/dead-letter.ts";
import { createNotStoredError, type DeadLetterProgress } from "../dead-letters/progress.ts";
import type { DeadLetterStore } from "../dead-letters/stores.ts";
import type { Broker } from "../kafka/client.ts";
import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { elapsed, repeat, sleep } from "../lib/platform.ts";
import { retryUntilAvailable } from "../lib/retry.ts";
import type { LogStore } from "../sync/positions.ts";

export interface DeadLetterConsumerOptions {
  /** The dead-letter topic, and the group that reads it into the database. */
  readonly topic: string;
  readonly groupId: string;
  readonly broker: Broker;
  readonly store: DeadLetterStore;
  readonly logs: LogStore;
  readonly progress: DeadLetterProgress;
  readonly identify: IdentifyTopic;
  readonly log: Logger;
}

/** Stops reading. Resolves when the member has left its group. */
export type StopReading = () => Promise<void>;

const restartDelayMs = 30_000;
const expiryIntervalMs = 60_000;

/**
 * Reads dead letters into the database until it is stopped, as one member of the group. The sync does not
 * depend on it: without the rights to read them, a warning says so, and it tries again.
 */
export function startReading(options: DeadLetterConsumerOptions): StopReading {
  const { topic, groupId, broker, store, logs, identify, log } = options;
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener("abort", () => {
      resolve();
    });
  });

  const isStopped = (): boolean => stopping.signal.aborted;

  /** Returns when it is stopped. Throws why the consumer has died. */
  async function readOnce(): Promise<void> {
    const died = Promise.withResolvers<never>();
    died.promise.catch(() => undefined);
    const consumer = createGroupConsumer({
      member: broker.createMember({ topic, groupId, commitsOffsets: true }),
      watch: broker.watch(topic),
      logs,
      createHandler: (partition) => createDeadLetterHandler(partition, { groupId, store, identify, log }),
      log,
      onDied: died.reject,
    });
    try {
      const started = retryUntilAvailable(() => consumer.start(), {
        what: "Kafka",
        abort: stopping.signal,
        log,
      });
      started.catch(() => undefined);
      await Promise.race([started, died.promise, stopped]);
      await Promise.race([died.promise, stopped]);
    } finally {
      await consumer.stop();
    }
  }

  async function readUntilStopped(): Promise<void> {
    while (!isStopped()) {
      try {
        await readOnce();
      } catch (error) {
        if (isStopped()) return;
        log.warn({ topic, reason: getErrorMessage(error) }, "dead letters cannot be read, retrying");
        await sleep(restartDelayMs, stopping.signal);
      }
    }
  }

  const reading = readUntilStopped();
  const stopRemoving = repeat(expiryIntervalMs, () => {
    options.progress.removeExpired().catch((error: unknown) => {
      log.debug({ topic, reason: getErrorMessage(error) }, "expired dead letters not removed");
    });
  });
  return async () => {
    stopRemoving();
    stopping.abort();
    await reading;
  };
}

const ownerCheckIntervalMs = 1_000;
const stallTimeoutMs = 60_000;

/**
 * Waits until every dead letter is stored that Kafka has now, and reads them itself while no service does.
 * Throws NotLoadedError when nothing is stored for a minute.
 */
export async function readToEnd(
  options: DeadLetterConsumerOptions,
  onProgress: (read: number, total: number) => void,
): Promise<number> {
  const { topic, groupId, broker, progress } = options;
  const observer = broker.observe({ topic, groupId });
  let stop: StopReading | undefined;
  let first: number | undefined;
  let last = Infinity;
  let movedAt = elapsed();
  let checkedAt = -Infinity;
  try {
    const unread = await progress.waitUntilStored(Infinity, async (unread) => {
      first ??= unread;
      onProgress(first - unread, first);
      if (unread < last) movedAt = elapsed();
      else if (elapsed() - movedAt > stallTimeoutMs) throw createNotStoredError(unread);
      last = unread;
      if (stop !== undefined || elapsed() - checkedAt < ownerCheckIntervalMs) return;
      checkedAt = elapsed();
      if ((await observer.fetchOwners()).size === 0) stop = startReading(options);
    });
    if (first !== undefined) onProgress(first, first);
    return unread;
  } finally {
    await stop?.();
  }
}
