import { OverloadedError } from "./errors.ts";

export interface MutexOptions {
  /** More than these do not wait. */
  readonly maxWaiting?: number;
  /** What OverloadedError says then. */
  readonly refusal?: string;
}

export type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Does one work at a time, in the order in which they come; one that fails does not hold up the next. Throws OverloadedError where
 * too many wait already.
 */
export function createMutex({
  maxWaiting: mostWaiting = Infinity,
  refusal = "too many wait already",
}: MutexOptions = {}): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (work) => {
    if (waiting > mostWaiting) throw new OverloadedError(refusal);
    waiting += 1;
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      waiting -= 1;
    }
  };
}
