import { foldCase } from "./fold.ts";
import { Numbering } from "../filter/numbering.ts";
import type { FindablePattern } from "./patterns.ts";
import { Substrings } from "./substrings.ts";
import { TextEnds } from "./text-ends.ts";
import { Wildcards } from "./wildcards.ts";

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
  #wildcards: Wildcards | undefined;

  acquire(pattern: FindablePattern): number {
    const { operator, value } = pattern;
    const { number, isNew } = this.#numbering.acquire(`${operator} ${value}`);
    if (isNew) this.#add(pattern, number);
    return number;
  }

  release(number: number): void {
    const name = this.#numbering.release(number);
    if (name === undefined) return;
    const space = name.indexOf(" ");
    const operator = name.slice(0, space) as FindablePattern["operator"];
    this.#remove(operator, name.slice(space + 1), number);
  }

  /** Calls back with the number of each pattern that a text satisfies. */
  find(text: string, onFound: (number: number) => void): void {
    this.#prefixes.find(text, onFound);
    this.#suffixes.find(text, onFound);
    this.#substrings.find(text, onFound);
    this.#wildcards?.find(text, onFound);
    if (this.#folded.size === 0) return;
    const number = this.#folded.get(foldCase(text));
    if (number !== undefined) onFound(number);
  }

  #add(pattern: FindablePattern, number: number): void {
    const { operator, value } = pattern;
    if (pattern.operator === "like")
      (this.#wildcards ??= new Wildcards(new TextPatterns())).set(value, pattern.required, number);
    else if (operator === "eqi") this.#folded.set(value, number);
    else if (operator === "prefix") this.#prefixes.set(value, number);
    else if (operator === "suffix") this.#suffixes.set(value, number);
    else this.#substrings.set(value, number);
  }

  #remove(operator: FindablePattern["operator"], text: string, number: number): void {
    if (operator === "eqi") this.#folded.delete(text);
    else if (operator === "prefix") this.#prefixes.delete(text);
    else if (operator === "suffix") this.#suffixes.delete(text);
    else if (operator === "contains") this.#substrings.delete(text);
    else this.#wildcards?.delete(number);
  }
}
