import { UnavailableError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { sleep } from "../platform.ts";

const minDelayMs = 250;
const maxDelayMs = 5_000;

interface RetryOptions {
  /** The dependency's name for the log: "MongoDB". */
  readonly what: string;
  readonly abort: AbortSignal;
  readonly log: Logger;
}

/**
 * Retries with exponential backoff while the attempt throws UnavailableError, and logs each failure. Rethrows
 * other errors. When aborted, throws the last UnavailableError at once and ignores the result of a pending
 * attempt.
 */
export async function retryUntilAvailable<T>(
  attempt: () => Promise<T>,
  { what, abort, log }: RetryOptions,
): Promise<T> {
  let last = new UnavailableError("no response");
  const aborted = Promise.withResolvers<never>();
  const isAborted = (): boolean => abort.aborted;
  const giveUp = (): void => {
    aborted.reject(last);
  };
  abort.addEventListener("abort", giveUp, { once: true });
  try {
    for (let delayMs = minDelayMs; !abort.aborted; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
      try {
        return await Promise.race([attempt(), aborted.promise]);
      } catch (error) {
        if (!(error instanceof UnavailableError) || isAborted()) throw error;
        last = error;
        log.warn({ reason: error.message, retryInMs: delayMs }, `${what} unavailable, retrying`);
        await sleep(delayMs, abort);
      }
    }
    throw last;
  } finally {
    abort.removeEventListener("abort", giveUp);
  }
}
