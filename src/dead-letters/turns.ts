import { Overloaded } from "../errors.ts";

/** More than these do not wait. */
const mostWaiting = 20;

/** Does one work at a time, in the order in which they come. Throws Overloaded where too many wait already. */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (work) => {
    if (waiting > mostWaiting) throw new Overloaded("too many wait for dead letters");
    waiting += 1;
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      waiting -= 1;
    }
  };
}
