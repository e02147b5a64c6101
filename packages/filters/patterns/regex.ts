import { RE2JS, RE2JSException } from "re2js";

import { limits } from "../filter/filter.ts";

/** An expression that tests a text in linear time. */
export interface RegularExpression {
  test(text: string): boolean;
}

/** Compiled when it is first tested: most topics of a large index are not asked about most events. */
export class LazyExpression implements RegularExpression {
  readonly #compile: () => RegularExpression;
  #expression: RegularExpression | undefined;

  constructor(compile: () => RegularExpression) {
    this.#compile = compile;
  }

  test(text: string): boolean {
    return (this.#expression ??= this.#compile()).test(text);
  }
}

/**
 * Compiles a regular expression of RE2's syntax, which has no back references and no look-around. Throws an
 * Error that says what is wrong with it, beginning with a verb.
 */
export function compileRegex(pattern: string): RE2JS {
  // Compiling 256 characters with nested repetitions may take longer than all other work for a request.
  if (estimateInstructions(pattern) > 2 * limits.instructions) throw createRepetitionError();
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const reason = error.message.replace(/^error parsing regexp: /, "");
    throw new Error(`has a regular expression that RE2 rejects: ${reason}`, { cause: error });
  }
  if (expression.programSize() > limits.instructions) throw createRepetitionError();
  return expression;
}

/** A large program is a short pattern with nested repetitions, `((a{50}){50}){50}`. */
const createRepetitionError = (): Error => new Error("has a regular expression with too many repetitions");

/** The sizes of valid patterns: a filter is parsed several times on its way into the index. */
const knownSizes = new Map<string, number>();
const maxKnownSizes = 1_000;

/** Returns the number of instructions of a pattern's program. Throws as `compileRegex` does. */
export function measureRegex(pattern: string): number {
  const known = knownSizes.get(pattern);
  if (known !== undefined) return known;
  const size = compileRegex(pattern).programSize();
  if (knownSizes.size === maxKnownSizes) knownSizes.clear();
  knownSizes.set(pattern, size);
  return size;
}

/** Beginnings of groups, characters in several notations, classes, counted repetitions, and the rest. */
const parts =
  /(\((?:\?(?:P?<\w+>|[a-zA-Z-]*:)?)?)|\\x\{[\da-f]+\}|\\p\{\^?\w+\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gisu;

/** Returns about half to twice the number of instructions, without compiling the pattern. */
function estimateInstructions(pattern: string): number {
  /** What stands before each open group. */
  const outer: number[] = [];
  let [before, last] = [0, 0];
  for (const [part, group, min, max] of pattern.matchAll(parts)) {
    if (group !== undefined) {
      outer.push(before + last);
      [before, last] = [0, group === "(" ? 2 : 0];
    } else if (part === ")") {
      last += before;
      before = outer.pop() ?? 0;
    } else if (min !== undefined) last *= Math.max(1, Number(max === undefined || max === "" ? min : max));
    else if (part === "*" || part === "+" || part === "?") last += 1;
    else {
      before += last;
      last = 1;
    }
  }
  return outer.reduce((sum, size) => sum + size, before + last);
}
