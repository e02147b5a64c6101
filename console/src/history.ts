import type { Sample } from "../../schemas/overview.ts";

/** A count that a process only increases; null if unknown. */
type Count = (sample: Sample) => number | null;

/** The rate of a figure is that of the last minute: a sample is taken every ten seconds. */
const samplesPerMinute = 6;

/** The times of the samples, in seconds since 1970. */
export const getTimes = (history: readonly Sample[]): number[] =>
  history.map(({ at }) => Date.parse(at) / 1_000);

/** The rate per second at each sample, since the one before it. */
export const calculateRates = (history: readonly Sample[], count: Count): (number | null)[] =>
  history.map((sample, i) => calculateRateBetween(history[i - 1], sample, count));

/** The rate per second during the last minute; null if unknown. */
export const calculateRate = (history: readonly Sample[], count: Count): number | null =>
  calculateRateBetween(history.at(-1 - samplesPerMinute) ?? history[0], history.at(-1), count);

function calculateRateBetween(from: Sample | undefined, to: Sample | undefined, count: Count): number | null {
  if (from === undefined || to === undefined || from === to) return null;
  const [before, after] = [count(from), count(to)];
  if (before === null || after === null) return null;
  return (after - before) / ((Date.parse(to.at) - Date.parse(from.at)) / 1_000);
}
