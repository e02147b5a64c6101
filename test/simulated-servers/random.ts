/** A source of chance that a seed determines. */
export interface Random {
  /** At least 0 and less than 1. */
  readonly next: () => number;
  /** A whole number from `low` up to, but not including, `high`. */
  readonly between: (low: number, high: number) => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <T>(from: readonly [T, ...T[]]) => T;
}

/** Creates a source of chance: sfc32, a small fast counter generator. */
export function createRandom(seed: number): Random {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed >>> 0;
  let counter = Math.floor(seed / 2 ** 32) >>> 0 || 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 12; round += 1) next();
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (from) => from[between(0, from.length)] ?? from[0],
  };
}
