import type { WorldName } from "../run.ts";

/** A small break of the product, which the simulation must find. */
export interface Mutant {
  readonly name: string;
  readonly world: WorldName;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly replace: string;
  readonly by: string;
  /** Why it breaks nothing that is checked; only where that is so. */
  readonly isEquivalent?: string;
  /** The schedule in regressions.jsonl that finds it, where random ones do so too rarely. */
  readonly schedule?: string;
}
