/** Random, so that nobody can choose texts that all have the same hash. */
export const createSeed = (): number => Math.trunc(Math.random() * 2 ** 32);

/** The hash of a text is that of its beginning, with one character code after another. */
export function addToHash(hash: number, code: number): number {
  const mixed = Math.imul(hash ^ code, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
