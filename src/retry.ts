import { setTimeout as sleep } from "node:timers/promises";

import { Unavailable } from "./errors.ts";
import type { Logger } from "./logger.ts";

const firstWaitMs = 250;
const longestWaitMs = 5_000;

export interface RetryOptions {
  /** What is waited for, as it shall stand in the log: "MongoDB". */
  readonly what: string;
  readonly abort: AbortSignal;
  readonly log: Logger;
}

/**
 * Tries until it succeeds, waiting longer each time, with a log line for each try that failed.
 * Throws what is not Unavailable, and Unavailable itself once aborted.
 */
export async function untilAvailable<T>(
  attempt: () => Promise<T>,
  { what, abort, log }: RetryOptions,
): Promise<T> {
  for (let wait = firstWaitMs; ; wait = Math.min(wait * 2, longestWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Unavailable) || abort.aborted) throw error;
      log.warn({ reason: error.message, retryInMs: wait }, `${what} does not answer yet; trying again`);
      await sleep(wait, undefined, { signal: abort }).catch(() => undefined);
    }
  }
}
