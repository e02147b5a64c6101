import { RE2JS } from "re2js";

import type { RegularExpression } from "./regex.ts";

/**
 * The values of "like" are patterns: `*` stands for any characters, `?` for one, and `\` makes `*`, `?` or
 * `\` a character. In a filter's text these are written as `%2A`, `%3F` and `\`.
 */
export const escapeLike = (text: string): string => text.replaceAll(/[*?\\]/gu, "\\$&");

/** A part of a pattern: a text, or a wildcard. */
type LikePart = { readonly text: string } | { readonly wildcard: "*" | "?" };

export function splitLike(pattern: string): LikePart[] {
  const parts: LikePart[] = [];
  for (const [, text, wildcard] of pattern.matchAll(/((?:[^*?\\]|\\.)+)|([*?])/gsu)) {
    if (text !== undefined) parts.push({ text: text.replaceAll(/\\(.)/gsu, "$1") });
    else parts.push({ wildcard: wildcard === "*" ? "*" : "?" });
  }
  return parts;
}

/** Returns an expression that matches the same texts, in linear time. */
export function compileLike(pattern: string): RegularExpression {
  const source = splitLike(pattern)
    .map((part) => ("text" in part ? RE2JS.quote(part.text) : part.wildcard === "*" ? ".*" : "."))
    .join("");
  return RE2JS.compile(`^${source}$`, RE2JS.DOTALL);
}
