import { FilterSyntaxError, limits } from "../filter/filter.ts";
import { escapeLike, measureLike } from "./like.ts";
import type { PatternBudget } from "./pattern-budget.ts";
import { measureRegex } from "./regex.ts";
import { decodePart, trimEnd, trimStart } from "../filter/scan.ts";

export const emptyValueProblem = "has an empty value; expected a value";

/** A regular expression is not split at commas. */
export function readRegex(text: string, start: number, end: number, budget: PatternBudget): string {
  const first = trimStart(text, start, end);
  if (first === end) throw new FilterSyntaxError(emptyValueProblem, end);
  const pattern = decodePart(text, first, trimEnd(text, first, end));
  requireShort(pattern, first);
  budget.spend(tryMeasure(pattern, first), first);
  return pattern;
}

function tryMeasure(pattern: string, position: number): number {
  try {
    return measureRegex(pattern);
  } catch (error) {
    throw new FilterSyntaxError(error instanceof Error ? error.message : String(error), position);
  }
}

/** `*` and `?` are wildcards; encoded, they are characters. */
export function readLike(text: string, start: number, end: number, budget: PatternBudget): string {
  let pattern = "";
  for (let from = start; from < end;) {
    const at = findWildcard(text, from, end);
    pattern += escapeLike(decodePart(text, from, at)) + text.slice(at, Math.min(at + 1, end));
    from = at + 1;
  }
  requireShort(pattern, start);
  budget.spend(measureLike(pattern), start);
  return pattern;
}

function findWildcard(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && text[at] !== "*" && text[at] !== "?") at += 1;
  return at;
}

function requireShort(pattern: string, position: number): void {
  if (pattern.length > limits.pattern)
    throw new FilterSyntaxError(`has a pattern of more than ${limits.pattern} characters`, position);
}
