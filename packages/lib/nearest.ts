/**
 * Returns the name that a misspelled one most probably means: the same but for at most `maxDistance` letters
 * that are inserted, left out, replaced, or swapped with the next one.
 */
export function findNearest(given: string, names: Iterable<string>, maxDistance = 2): string | undefined {
  let nearest: string | undefined;
  let limit = maxDistance;
  for (const name of names) {
    const distance = measureDistance(given, name, limit);
    if (distance > limit || (distance === limit && nearest !== undefined)) continue;
    nearest = name;
    limit = distance;
  }
  return nearest;
}

/**
 * The number of letters that are inserted, left out, replaced, or swapped with the next one; Infinity if it
 * is more than a maximum.
 */
export function measureDistance(one: string, other: string, max: number): number {
  if (Math.abs(one.length - other.length) > max) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let at = 1; at <= other.length; at++) {
      const replaced = (last[at - 1] ?? 0) + Number(one[row - 1] !== other[at - 1]);
      const isSwap = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const swapped = isSwap ? (beforeLast[at - 2] ?? 0) + 1 : Infinity;
      current.push(Math.min((last[at] ?? 0) + 1, (current[at - 1] ?? 0) + 1, replaced, swapped));
    }
    if (Math.min(...current) > max) return Infinity;
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
