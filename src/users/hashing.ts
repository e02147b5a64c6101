import { availableParallelism } from "node:os";

import { Overloaded } from "../errors.ts";

/** Lets only so many hashes be computed at once. */
export interface Hashing {
  /**
   * Does the work when its turn comes; what is `urgent` before what is not, and each kind in the order of its coming.
   * Throws Overloaded at once when too many wait, and later when others, more urgent, took its place.
   */
  run<T>(urgent: boolean, work: () => Promise<T>): Promise<T>;
}

/**
 * A hash occupies a core and one of the four threads that files and host names need as well: half of the cores at most,
 * and never more than two threads.
 */
const atOnceHere = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)));

/** At about a quarter of a second each, whoever waits longest waits for some seconds. */
const mostWaitingHere = 32;

interface Waiting {
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/** Makes the bound on hashing. */
export function createHashing({ atOnce = atOnceHere, mostWaiting = mostWaitingHere } = {}): Hashing {
  let running = 0;
  const urgentOnes: Waiting[] = [];
  const others: Waiting[] = [];

  function turn(urgent: boolean): Promise<void> {
    return new Promise((begin, reject) => {
      const giveUp = (): void => {
        reject(new Overloaded("too many logins wait for their check"));
      };
      if (urgentOnes.length + others.length < mostWaiting) {
        (urgent ? urgentOnes : others).push({ begin, giveUp });
        return;
      }
      const last = urgent ? others.pop() : undefined;
      if (last === undefined) giveUp();
      else {
        urgentOnes.push({ begin, giveUp });
        last.giveUp();
      }
    });
  }

  return {
    async run(urgent, work) {
      if (running < atOnce) running += 1;
      else await turn(urgent);
      try {
        return await work();
      } finally {
        const next = urgentOnes.shift() ?? others.shift();
        // The place is handed on: nobody who comes in between can take it.
        if (next === undefined) running -= 1;
        else next.begin();
      }
    },
  };
}
