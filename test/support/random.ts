/** Reproducible pseudo-random numbers. */
export interface Random {
  /** An integer from `low` to `high`, inclusive. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Undefined for an empty list. */
  pickOptional<T>(list: readonly T[]): T | undefined;
  pickWeighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
  shuffle<T>(list: readonly T[]): T[];
  /** An independent generator, so that one part's draws do not affect another's. */
  fork(): Random;
}

export const randomSeed = (): number => Math.floor(Math.random() * 2 ** 32);

/** A random seed, or that of an environment variable. Tests that fail show `hint`, which repeats the run. */
export function chooseSeed(variable: string): { readonly seed: number; readonly hint: string } {
  const seed = Number(process.env[variable] ?? randomSeed());
  return { seed, hint: `${variable}=${seed}` };
}

/** Uses mulberry32, which accepts every 32-bit seed. */
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
    pickOptional: (list) => list[between(0, list.length - 1)],
    pickWeighted(choices) {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, choice] of choices) {
        left -= weight;
        if (left < 0) return choice;
      }
      throw new Error("the weights must not all be 0");
    },
    shuffle: (list) =>
      list
        .map((value) => ({ value, rank: next() }))
        .toSorted((one, other) => one.rank - other.rank)
        .map(({ value }) => value),
    fork: () => createRandom(between(0, 2 ** 32 - 1)),
  };
}
