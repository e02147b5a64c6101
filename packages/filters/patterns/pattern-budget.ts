import { FilterSyntaxError, limits } from "../filter/filter.ts";

/**
 * What the patterns of a topic, or of all topics of a request, may cost together. Hundreds of large patterns
 * would take everybody's time: when a topic is stored, at each start, and for each event.
 */
export class PatternBudget {
  readonly #of: string;
  readonly #max: number;
  /** A budget that this one is a part of. */
  readonly #whole: PatternBudget | undefined;
  #spent = 0;

  private constructor(of: string, max: number, whole?: PatternBudget) {
    this.#of = of;
    this.#max = max;
    this.#whole = whole;
  }

  static forTopic(whole?: PatternBudget): PatternBudget {
    return new PatternBudget("a topic", limits.instructions, whole);
  }

  static forRequest(): PatternBudget {
    return new PatternBudget("a request", limits.requestInstructions);
  }

  /** Throws a FilterSyntaxError once all of it is spent. */
  spend(instructions: number, position: number): void {
    this.#whole?.spend(instructions, position);
    this.#spent += instructions;
    if (this.#spent <= this.#max) return;
    throw new FilterSyntaxError(
      `has a pattern with which those of ${this.#of} have ${this.#spent} instructions; at most ${this.#max} are allowed, and x{9} counts nine times`,
      position,
    );
  }
}
