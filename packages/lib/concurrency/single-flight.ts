/** Joins the run with this key that is in flight, or starts one. */
type SingleFlight<T> = (key: string, start: () => Promise<T>) => Promise<T>;

/**
 * Shares one run among all callers that ask for the same while it is in flight. Nothing is kept afterwards.
 * `cached` and the catalog keep their results as well, so lru-cache shares theirs. `shareDeactivations`
 * differs: its callers need a run that starts after they asked.
 */
export function createSingleFlight<T>(): SingleFlight<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (key, start) => {
    const current = inFlight.get(key);
    if (current !== undefined) return current;
    const run = start().finally(() => inFlight.delete(key));
    inFlight.set(key, run);
    return run;
  };
}
