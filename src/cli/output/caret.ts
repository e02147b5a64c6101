import stringWidth from "string-width";

import type { FilterSyntaxError } from "@topicsync/filters";
import { sanitize } from "./output.ts";

/** How much of a long text is shown, in columns. */
const maxColumns = 70;
const maxProblemLength = 200;

/**
 * Formats a filter's syntax error in three lines: the text, or the part of a long one around the error, a
 * caret below the error, and the problem.
 */
export const formatFilterError = (
  text: string,
  { problem, position }: Pick<FilterSyntaxError, "problem" | "position">,
): string[] => [
  ...formatCaret(text, position),
  `error: the filter ${abbreviate(problem)} (character ${position + 1})`,
];

/** Formats a text and, on a second line, a caret below a position, given in UTF-16 code units. */
export function formatCaret(text: string, position: number): string[] {
  const before = splitCharacters(text.slice(0, position));
  const after = splitCharacters(text.slice(position));
  // The half left of the caret gives up columns that it does not need, and the other way round.
  const right = takeColumns(after, Math.max(maxColumns - stringWidth(before.join("")), maxColumns / 2));
  const left = takeColumns(before.toReversed(), maxColumns - stringWidth(right.join(""))).toReversed();
  const start = left.length < before.length ? "…" : "";
  const end = right.length < after.length ? "…" : "";
  const shownBefore = start + left.join("");
  return [`  ${shownBefore}${right.join("")}${end}`, `  ${" ".repeat(stringWidth(shownBefore))}^`];
}

const segmenter = new Intl.Segmenter();

/** Splits a text into characters as they are displayed, control characters escaped. */
const splitCharacters = (text: string): string[] =>
  Array.from(segmenter.segment(text), ({ segment }) => sanitize(segment));

/** Returns the first characters, up to a width in columns. */
function takeColumns(characters: readonly string[], max: number): string[] {
  const taken: string[] = [];
  let width = 0;
  for (const character of characters) {
    width += stringWidth(character);
    if (width > max) break;
    taken.push(character);
  }
  return taken;
}

/** Cuts the middle of a long text: its end may name the cure. */
function abbreviate(text: string): string {
  const half = maxProblemLength / 2;
  return sanitize(text.length <= maxProblemLength ? text : `${text.slice(0, half)}…${text.slice(-half)}`);
}
