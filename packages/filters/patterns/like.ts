import { RE2JS } from "re2js";

import { LazyExpression, type RegularExpression } from "./regex.ts";

/**
 * The values of "like" are patterns: `*` stands for any characters, `?` for one, and `\` makes `*`, `?` or
 * `\` a character. In a filter's text these are written as `%2A`, `%3F` and `\`.
 */
export const escapeLike = (text: string): string => text.replaceAll(/[*?\\]/gu, "\\$&");

/** A part of a pattern: a text, or a wildcard. */
type LikePart = { readonly text: string } | { readonly wildcard: "*" | "?" };

export function splitLike(pattern: string): LikePart[] {
  const parts: LikePart[] = [];
  let text = "";
  let start = 0;
  for (let at = 0; at <= pattern.length; at += 1) {
    const character = pattern[at];
    if (character !== undefined && character !== "*" && character !== "?" && character !== "\\") continue;
    text += pattern.slice(start, at);
    start = at + 1;
    if (character === "\\") {
      // The next character is taken as it is.
      at += 1;
      continue;
    }
    if (text !== "") parts.push({ text });
    text = "";
    if (character !== undefined) parts.push({ wildcard: character });
  }
  return parts;
}

/** Returns an expression that matches the same texts, in linear time. */
export function compileLike(pattern: string): RegularExpression {
  const parts = splitLike(pattern);
  if (isSearch(parts)) return new Search(parts);
  const source = parts
    .map((part) => ("text" in part ? RE2JS.quote(part.text) : part.wildcard === "*" ? ".*" : "."))
    .join("");
  return new LazyExpression(() => RE2JS.compile(`^${source}$`, RE2JS.DOTALL));
}

/** Returns about the number of instructions of a pattern's program; 0 for one that needs none. */
export const measureLike = (pattern: string): number => (isSearch(splitLike(pattern)) ? 0 : pattern.length);

/** A wildcard stands for whole characters: well-formed texts begin and end with one. */
const isSearch = (parts: readonly LikePart[]): boolean =>
  parts.every((part) => ("text" in part ? part.text.isWellFormed() : part.wildcard === "*"));

/** Searches for the texts between asterisks: at most 256 characters, so in time linear in the text. */
class Search implements RegularExpression {
  readonly #first: string;
  readonly #middle: readonly string[];
  /** Undefined without an asterisk. */
  readonly #last: string | undefined;

  constructor(parts: readonly LikePart[]) {
    const texts = parts.map((part) => ("text" in part ? part.text : ""));
    this.#first = texts[0] ?? "";
    this.#last = parts.some((part) => "wildcard" in part) ? texts.at(-1) : undefined;
    const middle = texts.slice(1, -1).filter((text) => text !== "");
    this.#middle = middle.length === 0 ? none : middle;
  }

  test(text: string): boolean {
    const [first, last] = [this.#first, this.#last];
    if (last === undefined) return text === first;
    const end = text.length - last.length;
    let at = first.length;
    if (at > end || !text.startsWith(first) || !text.endsWith(last)) return false;
    for (const part of this.#middle) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
      if (at > end) return false;
    }
    return true;
  }
}

const none: readonly string[] = [];
