import { setTimeout as sleep } from "node:timers/promises";

import { UnavailableError } from "./errors.ts";

/** What `promise` gives, if it comes in time. Throws UnavailableError otherwise; what was asked for goes on unheard. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const late = sleep(ms, undefined, { ref: false, signal: stop.signal }).then(() => {
    throw new UnavailableError(`no answer within ${ms / 1_000} s`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort();
    promise.catch(() => undefined);
  }
}
