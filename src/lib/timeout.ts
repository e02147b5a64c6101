import { setTimeout as sleep } from "node:timers/promises";

import { UnavailableError } from "./errors.ts";

/** The result of `promise` if it comes in time. Throws UnavailableError otherwise; the work itself goes on. */
export async function withTimeout<T>(
  ms: number,
  promise: Promise<T>,
  toError = () => new UnavailableError(`no answer within ${ms / 1_000} s`),
): Promise<T> {
  const stop = new AbortController();
  const late = sleep(ms, undefined, { ref: false, signal: stop.signal }).then(() => {
    throw toError();
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort();
    promise.catch(() => undefined);
  }
}
