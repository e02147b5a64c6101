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
