import { setTimeout as sleep } from "node:timers/promises";

import { getErrorMessage } from "../../../src/lib/errors.ts";

/** Waits for conditions, but not for ever: all waiting of a run together has one limit. */
export interface Patience {
  /** Asks until the answer is neither undefined nor false, and gives it. What asking throws counts as no answer. */
  until<T>(what: string, ask: () => Promise<T | undefined | false> | T | undefined | false): Promise<T>;
  /** The outcome of something that is under way. */
  within<T>(what: string, work: Promise<T>): Promise<T>;
  /** Throws when the run has failed already or its time is over. */
  goOn(what: string): void;
  /** Makes everybody who waits, and whoever waits from now on, fail. */
  fail(error: Error): void;
}

/** `standing` tells people how far things are when the time is over. */
export function createPatience(limitMs: number, standing: () => string): Patience {
  const end = Date.now() + limitMs;
  let failure: Error | undefined;
  let last: unknown;

  function goOn(what: string): void {
    if (failure !== undefined) throw failure;
    if (Date.now() <= end) return;
    const reason = last === undefined ? "" : `; the last error was: ${getErrorMessage(last)}`;
    throw new Error(`not done after ${limitMs / 1_000} s, waiting until ${what}. ${standing()}${reason}`);
  }

  const until: Patience["until"] = async (what, ask) => {
    for (;;) {
      goOn(what);
      try {
        const answer = await ask();
        if (answer !== undefined && answer !== false) return answer;
      } catch (error) {
        last = error;
      }
      await sleep(20);
    }
  };

  return {
    goOn,
    until,
    fail: (error) => (failure ??= error),
    async within(what, work) {
      let isDone = false;
      const done = work.finally(() => (isDone = true));
      await Promise.race([done, until(what, () => isDone)]);
      return done;
    },
  };
}
