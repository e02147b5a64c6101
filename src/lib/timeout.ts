import { UnavailableError } from "./errors.ts";
import { schedule } from "./platform.ts";

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
