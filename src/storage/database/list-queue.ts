import PQueue from "p-queue";

import { UnavailableError } from "@topicsync/lib/errors";
import { schedule } from "@topicsync/lib/platform";
import { clientOptions } from "./client-options.ts";

/** A fifth of the driver's pool by default. */
const maxLists = 20;
const partOfPool = 5;
/** As long as an operation waits for a connection of the pool. */
const maxWaitMs = clientOptions.waitQueueTimeoutMS;

/** Runs operations, a bounded number at a time. Throws UnavailableError if one waits for too long. */
export type ListQueue = <T>(operation: () => Promise<T>) => Promise<T>;

/**
 * Creates the queue of what people list. A list may read a whole collection: any number of them at a time
 * would hold all connections, and registrations and the sync would wait. `poolSize` 0 is unlimited.
 */
export function createListQueue(poolSize: number): ListQueue {
  const share = poolSize === 0 ? maxLists : Math.ceil(poolSize / partOfPool);
  const queue = new PQueue({ concurrency: Math.min(maxLists, share) });
  return (operation) => {
    const waiting = new AbortController();
    const cancel = schedule(maxWaitMs, () => {
      waiting.abort(new UnavailableError("too many lists are being read"));
    });
    return queue.add(
      () => {
        cancel();
        return operation();
      },
      { signal: waiting.signal },
    );
  };
}
