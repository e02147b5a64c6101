import { foldCase } from "./fold.ts";
import { Numbering } from "./numbering.ts";
import type { IndexedPattern } from "./patterns.ts";
import { Substrings } from "./substrings.ts";
import { TextEnds } from "./text-ends.ts";

/**
 * The patterns that topics use at one path, numbered. Finds those that a text satisfies in time proportional
 * to the text and to what is found.
 */
export class TextPatterns {
  readonly #numbering = new Numbering();
  readonly #folded = new Map<string, number>();
  readonly #prefixes = new TextEnds("beginning");
  readonly #suffixes = new TextEnds("end");
  readonly #substrings = new Substrings();
  readonly #counts = { eqi: 0, prefix: 0, suffix: 0, contains: 0 };

  acquire({ operator, value }: IndexedPattern): number {
    const { number, isNew } = this.#numbering.acquire(`${operator} ${value}`);
    if (isNew) {
      this.#counts[operator] += 1;
      this.#add(operator, value, number);
    }
    return number;
  }

  release(number: number): void {
    const name = this.#numbering.release(number);
    if (name === undefined) return;
    const space = name.indexOf(" ");
    const operator = name.slice(0, space) as IndexedPattern["operator"];
    this.#counts[operator] -= 1;
    this.#remove(operator, name.slice(space + 1));
  }

  /** Calls back with the number of each pattern that a text satisfies. */
  find(text: string, onFound: (number: number) => void): void {
    const { eqi, prefix, suffix, contains } = this.#counts;
    if (prefix > 0) this.#prefixes.find(text, onFound);
    if (suffix > 0) this.#suffixes.find(text, onFound);
    if (contains > 0) this.#substrings.find(text, onFound);
    if (eqi === 0) return;
    const number = this.#folded.get(foldCase(text));
    if (number !== undefined) onFound(number);
  }

  #add(operator: IndexedPattern["operator"], text: string, number: number): void {
    if (operator === "eqi") this.#folded.set(text, number);
    else if (operator === "prefix") this.#prefixes.set(text, number);
    else if (operator === "suffix") this.#suffixes.set(text, number);
    else this.#substrings.set(text, number);
  }

  #remove(operator: IndexedPattern["operator"], text: string): void {
    if (operator === "eqi") this.#folded.delete(text);
    else if (operator === "prefix") this.#prefixes.delete(text);
    else if (operator === "suffix") this.#suffixes.delete(text);
    else this.#substrings.delete(text);
  }
}
