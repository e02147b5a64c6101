import { setTimeout as sleep } from "node:timers/promises";

import { UnavailableError } from "./errors.ts";
import type { Logger } from "./logger.ts";

const firstWaitMs = 250;
const maxWaitMs = 5_000;

export interface RetryOptions {
  /** What is waited for, as it shall stand in the log: "MongoDB". */
  readonly what: string;
  readonly abort: AbortSignal;
  readonly log: Logger;
}

/**
 * Tries until it succeeds, waiting longer each time, with a log line for each try that failed. Throws what is not
 * UnavailableError. Gives up at once when aborted, with the last UnavailableError; a try under way goes on unheard.
 */
export async function retryUntilAvailable<T>(
  attempt: () => Promise<T>,
  { what, abort, log }: RetryOptions,
): Promise<T> {
  let last = new UnavailableError("no answer");
  const aborted = Promise.withResolvers<never>();
  const isAborted = (): boolean => abort.aborted;
  const giveUp = (): void => {
    aborted.reject(last);
  };
  abort.addEventListener("abort", giveUp, { once: true });
  try {
    for (let wait = firstWaitMs; !abort.aborted; wait = Math.min(wait * 2, maxWaitMs)) {
      try {
        return await Promise.race([attempt(), aborted.promise]);
      } catch (error) {
        if (!(error instanceof UnavailableError) || isAborted()) throw error;
        last = error;
        log.warn({ reason: error.message, retryInMs: wait }, `${what} unavailable, retrying`);
        await sleep(wait, undefined, { signal: abort }).catch(() => undefined);
      }
    }
    throw last;
  } finally {
    abort.removeEventListener("abort", giveUp);
  }
}
