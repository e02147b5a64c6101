import { UnavailableError } from "../errors.ts";
import { schedule, sleep } from "../platform.ts";

/** Waits for `promise`. Throws after `ms`, by default an UnavailableError; a later result is ignored. */
export async function withTimeout<T>(
  ms: number,
  promise: Promise<T>,
  toError = () => new UnavailableError(`no response within ${ms / 1_000} s`),
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const cancel = schedule(ms, () => {
    reject(toError());
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    cancel();
  }
}

/**
 * Waits for `promise`, but not longer than `ms`. Returns false when it took longer. Throws what it throws in
 * time.
 */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise.then(() => true), sleep(ms, waiting.signal).then(() => false)]);
  } finally {
    waiting.abort();
  }
}

/** Rejects with the reason of the signal once it is aborted. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  promise.catch(() => undefined);
  return promise;
}
