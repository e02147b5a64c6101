import { compileLike, splitLike } from "./like.ts";
import type { IndexedPattern } from "./patterns.ts";
import type { RegularExpression } from "./regex.ts";

/** Patterns that require the same text, in parallel lists: a search reads little more than the masks. */
interface Group {
  readonly masks: number[];
  readonly numbers: number[];
  readonly expressions: RegularExpression[];
}

/** Numbers the texts that patterns require, and finds those that a text has. */
interface RequiredTexts {
  acquire(pattern: IndexedPattern): number;
  release(number: number): void;
  find(text: string, onFound: (number: number) => void): void;
}

/**
 * Numbered patterns with wildcards, each under one text that it requires. Those whose required text is found
 * are tested if the text also has their characters.
 */
export class Wildcards {
  readonly #required: RequiredTexts;
  /** By the number of the required text. */
  readonly #groups: (Group | undefined)[] = [];
  /** By the number of a pattern: its required text, and its place in the group. */
  readonly #requiredBy: number[] = [];
  readonly #places: number[] = [];

  constructor(required: RequiredTexts) {
    this.#required = required;
  }

  set(pattern: string, required: IndexedPattern, number: number): void {
    const requiredNumber = this.#required.acquire(required);
    const mask = createMask(
      splitLike(pattern)
        .map((part) => ("text" in part ? part.text : ""))
        .join(""),
    );
    const expression = compileLike(pattern);
    const group = this.#groups[requiredNumber];
    this.#requiredBy[number] = requiredNumber;
    this.#places[number] = group?.numbers.length ?? 0;
    // An array literal of one takes a tenth of the memory of one that grows.
    if (group === undefined) {
      this.#groups[requiredNumber] = { masks: [mask], numbers: [number], expressions: [expression] };
      return;
    }
    group.masks.push(mask);
    group.numbers.push(number);
    group.expressions.push(expression);
  }

  /** Moves the last one of the group into the gap. */
  delete(number: number): void {
    const required = this.#requiredBy[number] ?? 0;
    const at = this.#places[number] ?? 0;
    const group = this.#groups[required];
    if (group === undefined) return;
    const [mask, last, expression] = [group.masks.pop(), group.numbers.pop(), group.expressions.pop()];
    if (mask !== undefined && last !== undefined && expression !== undefined && last !== number) {
      group.masks[at] = mask;
      group.numbers[at] = last;
      group.expressions[at] = expression;
      this.#places[last] = at;
    }
    if (group.numbers.length === 0) this.#groups[required] = undefined;
    this.#required.release(required);
  }

  /** Calls back with the number of each pattern that applies to a text. */
  find(text: string, onFound: (number: number) => void): void {
    let mask: number | undefined;
    this.#required.find(text, (required) => {
      const group = this.#groups[required];
      if (group === undefined) return;
      mask ??= createMask(text);
      const { masks, numbers, expressions } = group;
      for (let at = 0; at < masks.length; at += 1) {
        if (((masks[at] ?? 0) & ~mask) !== 0) continue;
        if (expressions[at]?.test(text) === true) onFound(numbers[at] ?? 0);
      }
    });
  }
}

const maskBits = 30;

/** A bit for each character, which some share: a text has all the bits of a part of it. */
function createMask(text: string): number {
  let mask = 0;
  for (let at = 0; at < text.length; at += 1) mask |= 1 << (text.charCodeAt(at) % maskBits);
  return mask;
}
