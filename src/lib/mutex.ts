import { Overloaded } from "./errors.ts";

export interface TurnsOptions {
  /** More than these do not wait. */
  readonly mostWaiting?: number;
  /** What Overloaded says then. */
  readonly refusal?: string;
}

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Does one work at a time, in the order in which they come; one that fails does not hold up the next. Throws Overloaded where
 * too many wait already.
 */
export function createTurns({
  mostWaiting = Infinity,
  refusal = "too many wait already",
}: TurnsOptions = {}): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (work) => {
    if (waiting > mostWaiting) throw new Overloaded(refusal);
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
