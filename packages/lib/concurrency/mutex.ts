import { OverloadedError } from "../errors.ts";

/** Waits for its turn. Returns the function that ends the turn. */
export type Lock = () => Promise<() => void>;

/** Gives turns one at a time, first come, first served. */
export function createLock(): Lock {
  let last: Promise<unknown> = Promise.resolve();
  return async () => {
    const previousEnded = last;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    last = promise;
    await previousEnded;
    return () => {
      resolve(undefined);
    };
  };
}

interface MutexOptions {
  /** Calls beyond these fail with OverloadedError instead of waiting. */
  readonly maxWaiting?: number;
  /** The message of that error. */
  readonly message?: string;
}

type Mutex = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs one task at a time, first come, first served; a failed task does not hold up the next. */
export function createMutex({
  maxWaiting = Infinity,
  message = "too many requests are waiting",
}: MutexOptions = {}): Mutex {
  const acquire = createLock();
  let waiting = 0;
  return async (work) => {
    if (waiting > maxWaiting) throw new OverloadedError(message);
    waiting += 1;
    const release = await acquire();
    try {
      return await work();
    } finally {
      release();
      waiting -= 1;
    }
  };
}
