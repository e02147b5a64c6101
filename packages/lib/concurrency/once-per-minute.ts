const intervalMs = 60_000;

/**
 * Wraps a report of something that may happen very often: calls `report` at most once a minute, with the
 * number of occurrences since the last report and the arguments of the current one.
 */
export function oncePerMinute<Args extends readonly unknown[]>(
  report: (occurrences: number, ...args: Args) => void,
): (...args: Args) => void {
  let occurrences = 0;
  let reportedAt = -Infinity;
  return (...args) => {
    occurrences += 1;
    if (performance.now() - reportedAt < intervalMs) return;
    report(occurrences, ...args);
    reportedAt = performance.now();
    occurrences = 0;
  };
}
