import { availableParallelism } from "node:os";

import { OverloadedError } from "../lib/errors.ts";

/** Lets only so many hashes be computed at once. */
export interface Hashing {
  /**
   * Does the work when its turn comes; what is `urgent` before what is not, and each kind in the order of its coming.
   * Throws OverloadedError at once when too many wait, and later when others, more urgent, took its place or its turn does not
   * come in time.
   */
  run<T>(urgent: boolean, work: () => Promise<T>): Promise<T>;
}

/**
 * A hash occupies a core and one of the four threads that files and host names need as well: half of the cores at most,
 * and never more than two threads.
 */
const atOnceHere = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)));

/** At about a quarter of a second each, whoever waits longest waits for some seconds … */
const maxWaitingHere = 32;
/** … and where a hash takes longer, on a busy machine, is told so before the caller or the connection loses patience. */
const maxWaitHereMs = 10_000;

interface Waiting {
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/**
 * Makes the bound on hashing. After work that was not urgent, as much time as it took passes before the next of its kind:
 * a flood of it gets half of what everybody else gets. `rest` is that share, 1 unless told otherwise.
 */
export function createHashing({
  atOnce = atOnceHere,
  mostWaiting = maxWaitingHere,
  longestWaitMs = maxWaitHereMs,
  rest = 1,
} = {}): Hashing {
  let running = 0;
  let restUntil = 0;
  let waking: NodeJS.Timeout | undefined;
  const urgentOnes: Waiting[] = [];
  const others: Waiting[] = [];

  /** Begins what may begin now. */
  function beginMore(): void {
    while (running < atOnce) {
      const next = urgentOnes.shift() ?? (performance.now() < restUntil ? undefined : others.shift());
      if (next === undefined) break;
      running += 1;
      next.begin();
    }
    if (others.length === 0 || running >= atOnce) return;
    clearTimeout(waking);
    waking = setTimeout(beginMore, Math.max(0, restUntil - performance.now()) + 1).unref();
  }

  function turn(urgent: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        clearTimeout(late);
        reject(new OverloadedError("too many logins wait for their check"));
      };
      const begin = (): void => {
        clearTimeout(late);
        resolve();
      };
      const waiting = { begin, giveUp };
      const line = urgent ? urgentOnes : others;
      const late = setTimeout(() => {
        line.splice(line.indexOf(waiting), 1);
        giveUp();
      }, longestWaitMs).unref();
      if (urgentOnes.length + others.length >= mostWaiting) {
        const last = urgent ? others.pop() : undefined;
        if (last === undefined) {
          giveUp();
          return;
        }
        last.giveUp();
      }
      line.push(waiting);
      beginMore();
    });
  }

  return {
    async run(urgent, work) {
      await turn(urgent);
      const began = performance.now();
      try {
        return await work();
      } finally {
        running -= 1;
        const now = performance.now();
        if (!urgent) restUntil = Math.max(restUntil, now + rest * (now - began));
        beginMore();
      }
    },
  };
}
