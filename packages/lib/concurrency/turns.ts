import { elapsed, scheduleSoon } from "../platform.ts";

/** Health checks and requests of others wait no longer than for one turn. */
const maxTurnMs = 10;

/** Divides long work into turns of the event loop. */
export class Turns {
  readonly #maxMs: number;
  #since = elapsed();

  constructor(maxMs = maxTurnMs) {
    this.#maxMs = maxMs;
  }

  /** Whether this turn has taken so long that others should go first. */
  isOver(): boolean {
    return elapsed() - this.#since >= this.#maxMs;
  }

  /** Lets others go first. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => scheduleSoon(resolve));
    this.#since = elapsed();
  }
}
