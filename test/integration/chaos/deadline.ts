import { getErrorMessage } from "@topicsync/lib/errors";
import { pause } from "../../support/poll.ts";

/** Waits for conditions, with one time limit for the whole run. */
export interface Deadline {
  /** Polls until the result is neither undefined nor false, and returns it. Retries when polling throws. */
  waitUntil<T>(what: string, ask: () => Promise<T | undefined | false> | T | undefined | false): Promise<T>;
  waitFor<T>(what: string, work: Promise<T>): Promise<T>;
  /** Throws if the run has failed or its time is over. */
  check(what: string): void;
  /** Fails every current and future wait. */
  fail(error: Error): void;
}

/** `describeProgress` is quoted in the error when the time is over. */
export function createDeadline(limitMs: number, describeProgress: () => string): Deadline {
  const end = Date.now() + limitMs;
  let failure: Error | undefined;
  let last: unknown;

  function check(what: string): void {
    if (failure !== undefined) throw failure;
    if (Date.now() <= end) return;
    const reason = last === undefined ? "" : `; the last error was: ${getErrorMessage(last)}`;
    throw new Error(
      `not done after ${limitMs / 1_000} s, waiting until ${what}. ${describeProgress()}${reason}`,
    );
  }

  const waitUntil: Deadline["waitUntil"] = async (what, ask) => {
    for (;;) {
      check(what);
      try {
        const answer = await ask();
        if (answer !== undefined && answer !== false) return answer;
      } catch (error) {
        last = error;
      }
      await pause(20);
    }
  };

  return {
    check,
    waitUntil,
    fail: (error) => (failure ??= error),
    async waitFor(what, work) {
      let isDone = false;
      const done = work.finally(() => (isDone = true));
      await Promise.race([done, waitUntil(what, () => isDone)]);
      return done;
    },
  };
}
