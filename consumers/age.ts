const firstAgeMs = 1_000;
const growth = 4;
/** The result is at most this factor too large. */
const precision = 1.05;

/**
 * The age of the record at an offset, in milliseconds, found by the only query that brokers offer:
 * `firstSince` returns the offset of the first record that is not before a time. Asks ever further back until
 * the offset is reached, then halves the span. At most 5 % or 50 ms too large; where timestamps are out of
 * order, the age of the oldest record from there on.
 */
export async function getAgeAt(
  offset: number,
  firstSince: (timestamp: number) => Promise<number>,
  now: number,
): Promise<number> {
  const isWithin = async (ageMs: number): Promise<boolean> =>
    now - ageMs <= 0 || (await firstSince(Math.round(now - ageMs))) <= offset;

  let tooSmall = 0;
  let enough = firstAgeMs;
  while (!(await isWithin(enough))) {
    tooSmall = enough;
    enough *= growth;
  }
  while (enough - tooSmall > 50 && enough > tooSmall * precision) {
    const middle = (tooSmall + enough) / 2;
    if (await isWithin(middle)) enough = middle;
    else tooSmall = middle;
  }
  return enough;
}
