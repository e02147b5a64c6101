import { FilterSyntaxError, isComparison, type Operator } from "./filter.ts";
import { isSuspect, percentEncode } from "./look-alikes.ts";
import { trimEnd, trimStart } from "./scan.ts";

interface WrittenValues {
  readonly start: number;
  readonly end: number;
  readonly operator: Operator;
  /** Undefined after a sign. */
  readonly suffix: string | undefined;
}

/**
 * Throws if the values of a condition are written as in another language: nothing is silently a literal.
 * After `.eq=` and `.ne=` they are what they are.
 */
export function rejectForeignValues(text: string, written: WrittenValues): void {
  const { start, end, operator, suffix } = written;
  if (operator === "exists") return;
  if (suffix !== undefined && (operator === "eq" || operator === "ne")) {
    if (suffix === "in" || suffix === "nin") rejectBrackets(text, start, end);
    return;
  }
  if (!mayBeForeign(text, written)) return;
  rejectPlaceholder(text, start, end);
  if (operator === "regex") return;
  rejectJoined(text, written);
  rejectEach(text, written);
  if (suffix === undefined) rejectForeignCharacters(text, written);
}

/** Letters that a foreign word begins with, at the beginning of a value and within it. */
const firstLetters = { ofValue: new Uint8Array(128), ofWord: new Uint8Array(128) };
for (const letter of "nNuUtTyY") firstLetters.ofValue[letter.charCodeAt(0)] = 1;
for (const letter of "aAoO") firstLetters.ofWord[letter.charCodeAt(0)] = 1;

/** False for most values, which are then not looked at in detail: a million filters are parsed. */
function mayBeForeign(text: string, { start, end, operator }: WrittenValues): boolean {
  if (isComparison(operator)) return true;
  let [isFirst, isAfterSpace] = [true, false];
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (isSuspect(code)) return true;
    if (isFirst && firstLetters.ofValue[code] === 1) return true;
    if (isAfterSpace && firstLetters.ofWord[code] === 1) return true;
    isAfterSpace = code <= 0x20;
    isFirst = code === 0x2c || (isFirst && isAfterSpace);
  }
  return false;
}

const placeholder = /\$\{\s*[\p{L}_][^{}]*\}|\{\{\s*[\p{L}_.$][^{}]*\}\}/u;

/** Throws for `${x}` and `{{x}}`, which a template or a shell would have replaced. */
function rejectPlaceholder(text: string, start: number, end: number): void {
  const found = placeholder.exec(text.slice(start, end));
  if (found !== null)
    throw createValueError(found[0], "it is a placeholder that was not replaced;", start + found.index);
}

/** AND and OR between two comparisons, or in capitals after a sign: whoever means the text writes `.eq=`. */
const joined = /\s(?:and|or)\s[^,]*[<>]/iu;
const joinedByCapitals = /\s(?:AND|OR)\s/u;

function rejectJoined(text: string, { start, end, suffix }: WrittenValues): void {
  const values = text.slice(start, end);
  const at = values.search(joined);
  const found = at < 0 && suffix === undefined ? values.search(joinedByCapitals) : at;
  if (found < 0) return;
  const word = values.slice(found + 1).split(/\s/u, 1)[0] ?? "";
  throw new FilterSyntaxError(
    `has "${word}" between two conditions; write "&" for AND, "," between alternatives, or .eq= for the text itself`,
    start + found + 1,
  );
}

/** Looks at the values one by one. */
function rejectEach(text: string, { start, end, operator, suffix }: WrittenValues): void {
  for (let from = start; from < end;) {
    const comma = text.indexOf(",", from);
    const to = comma < 0 || comma > end ? end : comma;
    const first = trimStart(text, from, to);
    const value = text.slice(first, trimEnd(text, first, to));
    if (isForeignWord(operator, value)) throw createWordError(operator, value, first);
    if (suffix !== undefined && !isComparison(operator) && operator !== "like" && /^\*|\*$/u.test(value))
      throw createValueError("*", "write .like= for wildcards, or", first + value.indexOf("*"));
    from = to + 1;
  }
}

/** What other languages have instead of a value. */
const nothing = /^(?:[Nn][Uu][Ll][Ll]|None|nil|undefined)$/u;
/** A time that depends on when it is asked. */
const relativeTime =
  /^(?:now|today|yesterday|tomorrow)(?:\(\)|(?:\(\))?\s*[-+]\s*\d+\s*[a-z]+(?:\/[a-z])?|\/[a-z])$/iu;
const anyRelativeTime = /^(?:now|today|yesterday|tomorrow)\b|^[-+]\d+\s*[a-z]+$/iu;

/** Whether a value is a word of another language, where it is not taken as it is. */
function isForeignWord(operator: Operator, value: string): boolean {
  if (operator !== "eq" && operator !== "ne" && !isComparison(operator)) return false;
  if (nothing.test(value) || relativeTime.test(value)) return true;
  return isComparison(operator) && anyRelativeTime.test(value) && !/^[-+]\d+e\d+$/iu.test(value);
}

function createWordError(operator: Operator, value: string, position: number): FilterSyntaxError {
  const sign = operator === "ne" ? "ne" : "eq";
  const cure = nothing.test(value)
    ? `write .exists=${operator === "eq" ? "false" : "true"} for ${operator === "eq" ? "a member that is null or missing" : "a member that has a value"}`
    : "a filter has no clock; write a time such as 2026-01-31T10:00:00Z";
  const text = isComparison(operator) ? "" : `, or .${sign}=${value} for the text`;
  return new FilterSyntaxError(`has "${value}", which is only a text here; ${cure}${text}`, position);
}

/** Whether an equality is printed with a suffix, or its values would be rejected after a sign. */
export const needsSuffix = (operator: Operator, values: readonly string[]): boolean =>
  values.some(
    (value) => joinedByCapitals.test(value) || (!isComparison(operator) && isForeignWord(operator, value)),
  );

/** Whether the first character of a value is printed encoded, since it would be rejected otherwise. */
export const needsEncoding = (operator: Operator, value: string): boolean =>
  isComparison(operator) && isForeignWord(operator, value);

const quoted = /^(?:"[^]*"|'[^]*')$/u;
const bracketed = /^(?:\([^]*\)|\[[^]*\]|\{[^]*\})$/u;
/** Operators of other languages at the beginning of a value: `a=>5`, `a<>1`, `a=!1`. */
const misplacedOperator = /^[<>!~]/u;

function rejectForeignCharacters(text: string, { start, end, operator }: WrittenValues): void {
  if (isComparison(operator)) rejectSecondBound(text, start, end);
  rejectBrackets(text, start, end);
  const values = text.slice(start, end).trim();
  const from = text.indexOf(values, start);
  const misplaced = misplacedOperator.exec(values)?.[0];
  if (misplaced !== undefined)
    throw createValueError(misplaced, "the operators are = != > >= < <=, or", from);
  for (const [character, cure] of foreignInValues) {
    const at = values.indexOf(character);
    if (at >= 0) throw createValueError(character, cure, from + at);
  }
  rejectQuotes(values, from);
}

function rejectSecondBound(text: string, start: number, end: number): void {
  const at = text.slice(start + 1, end).search(/[<>]/u);
  if (at >= 0)
    throw createValueError(
      text[start + 1 + at] ?? "",
      "write two conditions, as in a>1&a<5, or",
      start + 1 + at,
    );
}

/** Throws if all values are in brackets. */
function rejectBrackets(text: string, start: number, end: number): void {
  const values = text.slice(start, end).trim();
  if (bracketed.test(values))
    throw createValueError(
      values[0] ?? "",
      "alternatives are joined by commas without brackets, as in a=1,2; or",
      text.indexOf(values, start),
    );
}

const createValueError = (found: string, cure: string, position: number): FilterSyntaxError =>
  new FilterSyntaxError(
    `has "${found}" in a value; ${cure} write "${percentEncode(found)}" for the character itself`,
    position,
  );

const foreignInValues = [
  ["*", "write .like= for wildcards, or"],
  ["^", 'write "&" between conditions, .regex= for regular expressions, or'],
  ["|", 'write "," between alternatives, or'],
] as const;

function rejectQuotes(values: string, from: number): void {
  let at = from;
  for (const value of values.split(",")) {
    if (quoted.test(value.trim()))
      throw new FilterSyntaxError(
        `has a value in quotation marks; leave them out, or write "${percentEncode(value.trim())}" for the characters themselves`,
        at,
      );
    at += value.length + 1;
  }
}
