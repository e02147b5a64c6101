import { UnavailableError } from "./errors.ts";

/** Waits for `promise`. Throws after `ms`, by default an UnavailableError; a later result is ignored. */
export async function withTimeout<T>(
  ms: number,
  promise: Promise<T>,
  toError = () => new UnavailableError(`no response within ${ms / 1_000} s`),
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(toError());
  }, ms).unref();
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
