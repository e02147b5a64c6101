/** Something that takes a while to find out, as it was found last. */
export interface Remembered<T> {
  /** Undefined until it was found out once. */
  readonly value: T | undefined;
  /** Why it could not be found out the last time; undefined when it could. */
  readonly problem: unknown;
}

export interface RememberedOptions {
  /** It is found out no sooner again than after this time … */
  readonly leastMs: number;
  /** … and than after so many times as long as finding it out took. */
  readonly rest: number;
}

/**
 * Finds something out again when somebody asks, but never twice at a time nor too often. Who asks gets what was found last, and
 * waits only where nothing was found yet.
 */
export function remembered<T>(
  findOut: () => Promise<T>,
  { leastMs, rest }: RememberedOptions,
): () => Promise<Remembered<T>> {
  let known: Remembered<T> = { value: undefined, problem: undefined };
  let dueAt = -Infinity;
  let finding: Promise<void> | undefined;

  async function find(): Promise<void> {
    const began = performance.now();
    try {
      known = { value: await findOut(), problem: undefined };
    } catch (problem) {
      known = { value: known.value, problem };
    }
    const ended = performance.now();
    dueAt = ended + Math.max(leastMs, rest * (ended - began));
    finding = undefined;
  }

  return async () => {
    if (performance.now() >= dueAt) finding ??= find();
    if (known.value === undefined) await finding;
    return known;
  };
}
