import { availableParallelism } from "node:os";

import PQueue from "p-queue";

import { OverloadedError } from "@topicsync/lib/errors";

/** A bounded queue for password hashes. */
export type HashQueue = ReturnType<typeof createHashQueue>;

/** A hash occupies a core, and one of the four threads that file access and DNS lookups share. */
const defaultConcurrency = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)));
/** About 4 seconds of hashing. */
const defaultMaxWaiting = 32;
/** Shorter than the timeouts of clients and proxies. */
const defaultMaxWaitMs = 10_000;

/** Work of priority `last` may fill half of the queue, so that a flood of it leaves room for the other. */
export function createHashQueue({
  concurrency = defaultConcurrency,
  maxWaiting = defaultMaxWaiting,
  maxWaitMs = defaultMaxWaitMs,
} = {}) {
  const queue = new PQueue({ concurrency });

  return {
    /**
     * Runs the work when its turn comes: `first` before `last`, each in order of arrival. Throws
     * OverloadedError when the queue is full, or when the turn does not come in time.
     */
    async run<T>(priority: "first" | "last", work: () => Promise<T>): Promise<T> {
      const isFirst = priority === "first";
      if (queue.size >= (isFirst ? maxWaiting : Math.ceil(maxWaiting / 2))) throw createOverloadedError();
      const waiting = new AbortController();
      const timer = setTimeout(() => {
        waiting.abort(createOverloadedError());
      }, maxWaitMs).unref();
      return queue.add(
        () => {
          clearTimeout(timer);
          return work();
        },
        { priority: isFirst ? 1 : 0, signal: waiting.signal },
      );
    },
  };
}

const createOverloadedError = (): OverloadedError =>
  new OverloadedError("too many logins are waiting to be checked");
