import { OverloadedError } from "./errors.ts";

export interface MutexOptions {
  /** Calls beyond these fail with OverloadedError instead of waiting. */
  readonly maxWaiting?: number;
  /** The message of that error. */
  readonly message?: string;
}

export type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs one task at a time, first come, first served; a failed task does not hold up the next. */
export function createMutex({
  maxWaiting = Infinity,
  message = "too many requests are waiting",
}: MutexOptions = {}): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (work) => {
    if (waiting > maxWaiting) throw new OverloadedError(message);
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
