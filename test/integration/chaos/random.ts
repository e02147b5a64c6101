/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** One of a list that may be empty. */
  pickAny<T>(list: readonly T[]): T | undefined;
  /** One of the choices, each as often as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
  shuffled<T>(list: readonly T[]): T[];
  /** A source of its own, so that how much one part draws does not change what another gets. */
  fork(): Random;
}

/** A seed that nobody chose. */
export const anySeed = (): number => Math.floor(Math.random() * 2 ** 32);

/** Makes a source by mulberry32, of which every 32-bit seed is a good one. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));

  return {
    between,
    chance: (probability) => next() < probability,
    pick: (list) => list[between(0, list.length - 1)] ?? list[0],
    pickAny: (list) => list[between(0, list.length - 1)],
    weighted(choices) {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, choice] of choices) {
        left -= weight;
        if (left < 0) return choice;
      }
      throw new Error("there is nothing to choose from");
    },
    shuffled: (list) =>
      list
        .map((value) => ({ value, rank: next() }))
        .toSorted((one, other) => one.rank - other.rank)
        .map(({ value }) => value),
    fork: () => createRandom(between(0, 2 ** 32 - 1)),
  };
}
