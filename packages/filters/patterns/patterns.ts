import type { Comparison, Operator } from "../filter/filter.ts";
import { foldCase } from "./fold.ts";
import { compileLike, splitLike } from "./like.ts";
import { compileRegex, LazyExpression } from "./regex.ts";
import { contains } from "./substrings.ts";

/** The operators that test the text of a value on its own. */
export type PatternOperator = Exclude<Operator, Comparison | "eq" | "ne" | "exists">;

export const isPatternOperator = (operator: Operator): operator is PatternOperator =>
  operator === "prefix" ||
  operator === "suffix" ||
  operator === "contains" ||
  operator === "eqi" ||
  operator === "like" ||
  operator === "regex";

type TextTest = (text: string) => boolean;

/** Whether a text satisfies one of the values. */
export function createPatternTest(operator: PatternOperator, values: readonly string[]): TextTest {
  const tests = values.map((value) => createTest(operator, value));
  const [first] = tests;
  if (first !== undefined && tests.length === 1) return first;
  return (text) => tests.some((test) => test(text));
}

export function createTest(operator: PatternOperator, value: string): TextTest {
  switch (operator) {
    case "prefix":
      return (text) => text.startsWith(value);
    case "suffix":
      return (text) => text.endsWith(value);
    case "contains":
      return (text) => contains(text, value);
    case "eqi": {
      const folded = foldCase(value);
      return (text) => foldCase(text) === folded;
    }
    case "like": {
      const expression = compileLike(value);
      return (text) => expression.test(text);
    }
    case "regex": {
      const expression = new LazyExpression(() => compileRegex(value));
      return (text) => expression.test(text);
    }
  }
}

/** A simpler pattern: texts that an index finds. */
export interface IndexedPattern {
  readonly operator: "prefix" | "suffix" | "contains" | "eqi";
  /** Folded for "eqi". */
  readonly value: string;
}

/**
 * Returns a pattern that every text has to which the given one applies; undefined if there is none. Whether
 * the given one applies must be tested then, unless both are the same.
 */
export function toIndexedPattern(operator: PatternOperator, value: string): IndexedPattern | undefined {
  if (operator === "like") return findRequiredByLike(value);
  if (operator === "regex") return findRequiredByRegex(value);
  return { operator, value: operator === "eqi" ? foldCase(value) : value };
}

/** A pattern that an index of texts finds (text-patterns.ts). */
export type FindablePattern =
  IndexedPattern | { readonly operator: "like"; readonly value: string; readonly required: IndexedPattern };

/**
 * Returns a pattern to find texts by. It applies to the same texts as the given one, or to more if that is a
 * regular expression. Undefined if there is none.
 */
export function toFindablePattern(operator: PatternOperator, value: string): FindablePattern | undefined {
  const indexed = operator === "like" ? simplifyLike(value) : undefined;
  if (indexed !== undefined) return indexed;
  const required = toIndexedPattern(operator, value);
  return operator === "like" && required !== undefined ? { operator, value, required } : required;
}

/** Returns the pattern of another operator that has the same meaning; undefined if there is none. */
export function simplifyLike(pattern: string): IndexedPattern | undefined {
  const parts = splitLike(pattern);
  const shape = parts.map((part) => ("text" in part ? "x" : part.wildcard)).join("");
  const operator = ({ "x*": "prefix", "*x": "suffix", "*x*": "contains" } as const)[shape];
  const [value] = parts.flatMap((part) => ("text" in part ? part.text : []));
  // A wildcard stands for whole characters, never for half of one.
  return operator === undefined || !value?.isWellFormed() ? undefined : { operator, value };
}

/** Returns what every text has that satisfies a pattern with wildcards: a beginning, an end and parts. */
export function listRequiredByLike(pattern: string): IndexedPattern[] {
  const parts = splitLike(pattern);
  const [first, last] = [parts[0], parts.at(-1)];
  const required: IndexedPattern[] = [];
  if (first !== undefined && "text" in first) required.push({ operator: "prefix", value: first.text });
  if (last !== undefined && "text" in last) required.push({ operator: "suffix", value: last.text });
  for (const part of parts) if ("text" in part) required.push({ operator: "contains", value: part.text });
  return required;
}

/** The longest one; a beginning or an end rather than a part. */
const findRequiredByLike = (pattern: string): IndexedPattern | undefined =>
  listRequiredByLike(pattern).reduce<IndexedPattern | undefined>(
    (best, one) => (best === undefined || one.value.length > best.value.length ? one : best),
    undefined,
  );

/** The parts of an expression: escapes, classes, counted repetitions, and single characters. */
const regexParts = /\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|./gsu;

/** Flags and names of groups, and escapes of more than a character, are not examined. */
const opaqueRegex = /\(\?(?!:)|\\(?![dDwWsSbB])[\p{L}\p{N}]/u;

/** Parts that match an unknown text, or none. */
const gap = /^(?:[().^$+|]|\[.*\]|\\[dDwWsSbB]|\{[^0].*)$/su;
/** What is before it may be missing. */
const optional = /^(?:[*?]|\{0.*)$/u;

function findRequiredByRegex(pattern: string): IndexedPattern | undefined {
  const texts = opaqueRegex.test(pattern) ? undefined : findTexts(pattern);
  if (texts === undefined) return undefined;
  const [, beginning = ""] = texts;
  if (pattern.startsWith("^") && beginning !== "") return { operator: "prefix", value: beginning };
  const longest = texts.reduce((best, text) => (text.length > best.length ? text : best), "");
  return longest === "" ? undefined : { operator: "contains", value: longest };
}

/**
 * Returns the texts between the gaps of an expression, outside groups: each is a part of every text that it
 * matches. Undefined if there are alternatives.
 */
function findTexts(pattern: string): string[] | undefined {
  const texts: string[] = [];
  let text = "";
  let depth = 0;
  for (const [part] of pattern.matchAll(regexParts)) {
    if (part === "|" && depth === 0) return undefined;
    if (part === "(") depth += 1;
    if (part === ")") depth -= 1;
    if (depth === 0 && !gap.test(part) && !optional.test(part)) {
      text += part.length > 1 && part.startsWith("\\") ? part.slice(1) : part;
      continue;
    }
    texts.push(depth === 0 && optional.test(part) ? text.replace(/.$/su, "") : text);
    text = "";
  }
  return [...texts, text];
}
