/** The program has broken one of its own rules. It is a bug; the data that led to it must not be written. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Throws an InvariantError unless the condition holds. `rule` says what must hold. */
export function invariant(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new InvariantError(`invariant violated: ${rule}`);
}
