import { toComparable } from "../filter/compare.ts";
import { isComparison, type Operator } from "../filter/filter.ts";
import { splitLike } from "../patterns/like.ts";
import { createRegexSample } from "../patterns/regex-sample.ts";
import { countTestable, type SampleValue, type ValueSet } from "./value-set.ts";

/**
 * Finds a value that is in all of the sets and not in `outside`; undefined if none of the values is that are
 * tried. `fromEnd`: prefers the last one of a list.
 */
export function findValue(
  sets: readonly ValueSet[],
  outside?: ValueSet,
  fromEnd = false,
): SampleValue | undefined {
  const fits = (one: SampleValue): boolean => sets.every((set) => set.has(one)) && outside?.has(one) !== true;
  const members = sets.find((set) => set.members !== undefined)?.members ?? outside?.excluded;
  const given = outside === undefined ? sets : [...sets, outside];
  let testable = countTestable(given);
  if (members !== undefined && members.length > testable) return undefined;
  if (members !== undefined) return fromEnd ? members.findLast(fits) : members.find(fits);
  for (const text of createTexts(given)) {
    testable -= 1;
    if (testable < 0) return undefined;
    const sample = { text, isNumber: false };
    if (fits(sample)) return sample;
  }
  return undefined;
}

/** Texts that filters seldom have. */
const rare = ["!", "\u{e000}"];
const highest = "\u{10ffff}";

/** Creates texts around those where a condition changes, in proportion to the number of values. */
function* createTexts(sets: readonly ValueSet[]): Generator<string> {
  for (const { simple } of sets)
    for (const value of simple.values) yield* createSimilar(simple.operator, value);
  yield* ["", ...rare, highest, "0", "-1", "a"];
  const [from, to] = sets.flatMap(({ simple }) => (isComparison(simple.operator) ? simple.values : []));
  if (from !== undefined && to !== undefined) yield* createBetween(from, to);
  const parts = (["prefix", "contains", "suffix"] as const).map(
    (operator) => sets.find(({ simple }) => simple.operator === operator)?.simple.values[0] ?? "",
  );
  for (const text of ["", ...rare]) yield parts.join(text);
}

/** A text that satisfies a condition, or nearly so, and those next to it. */
function* createSimilar(operator: Operator, value: string): Generator<string> {
  if (operator === "like") for (const text of rare) yield fillLike(value, text, text);
  const text = toText(operator, value);
  yield text;
  if (operator === "eqi") yield* [text.toUpperCase(), text.toLowerCase()];
  const { number, instant } = toComparable(text);
  if (number !== undefined)
    yield* [String(Number(text) + 1), String(Number(text) - 1), `${text}e-99`, `${text}e99`];
  if (instant !== undefined)
    for (const seconds of [1, -1]) yield printInstant((instant.seconds + seconds) * 1_000);
  for (const end of [...rare, highest, "\0"]) yield text + end;
  for (const around of [...rare, highest]) yield* [around + text, around + text + around];
  // Half of a character is not a text.
  yield text.replace(/.$/su, "");
}

function toText(operator: Operator, value: string): string {
  if (operator === "regex") return createRegexSample(value);
  return operator === "like" ? fillLike(value, "", "a") : value;
}

const fillLike = (pattern: string, any: string, one: string): string =>
  splitLike(pattern)
    .map((part) => ("text" in part ? part.text : part.wildcard === "*" ? any : one))
    .join("");

/** The empty text for a year that is not printed with four digits. */
function printInstant(ms: number): string {
  const text = new Date(ms).toISOString();
  return text.length === "2026-01-01T00:00:00.000Z".length ? text : "";
}

/** Creates numbers or times between two operands. */
function* createBetween(from: string, to: string): Generator<string> {
  const [x, y] = [toComparable(from), toComparable(to)];
  if (x.number !== undefined && y.number !== undefined) yield String((Number(from) + Number(to)) / 2);
  if (x.instant !== undefined && y.instant !== undefined)
    yield printInstant(500 * (x.instant.seconds + y.instant.seconds));
}
