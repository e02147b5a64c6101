import { compare, compareTexts, toComparable } from "../filter/compare.ts";
import { isComparison, type Condition, type Operator } from "../filter/filter.ts";
import { foldCase } from "../patterns/fold.ts";
import { createValueTest, type ValueTest } from "../filter/match.ts";
import { parseNumber, printNumber } from "../filter/numbers.ts";
import {
  listRequiredByLike,
  simplifyLike,
  toIndexedPattern,
  type IndexedPattern,
} from "../patterns/patterns.ts";
import { Automaton } from "../patterns/substrings.ts";
import { TextPatterns } from "../patterns/text-patterns.ts";

/** A value as conditions see it: its text, and whether it is a number. */
export interface SampleValue {
  readonly text: string;
  readonly isNumber: boolean;
}

type Test = Pick<Condition, "operator" | "values">;

/** With more values, they are indexed instead of being tested one by one. */
const maxTestedValues = 4;
/** No more than this many pairs of a value and a wildcard pattern or regular expression are tested. */
const maxPatternTests = 10_000;

/**
 * The values that satisfy a condition; every operator but "exists" has such a set. Takes time in proportion
 * to the condition.
 */
export class ValueSet {
  /** The condition, in a simpler form if there is one: `like=a*` is `prefix=a`. */
  readonly simple: Test;
  /** Whether numbers do not occur at the path. */
  readonly textsOnly: boolean;
  #test: ValueTest | undefined;
  #members: readonly SampleValue[] | undefined;
  #excluded: readonly SampleValue[] | undefined;

  constructor(condition: Test, textsOnly = false) {
    this.simple = condition.operator === "like" ? simplifyCondition(condition) : condition;
    this.textsOnly = textsOnly;
  }

  has({ text, isNumber }: SampleValue): boolean {
    this.#test ??= createIndexedTest(this.simple);
    return this.#test(text, isNumber);
  }

  /** All members of a finite set; undefined for an infinite one. */
  get members(): readonly SampleValue[] | undefined {
    if (this.simple.operator !== "eq" && !isCaseless(this.simple)) return undefined;
    return (this.#members ??= this.#toSamples());
  }

  /** All values that are not in the set, if they are finitely many. */
  get excluded(): readonly SampleValue[] | undefined {
    return this.simple.operator === "ne" ? (this.#excluded ??= this.#toSamples()) : undefined;
  }

  #toSamples(): SampleValue[] {
    const { operator, values } = this.simple;
    const texts = values.map((text) => ({ text, isNumber: false }));
    if (this.textsOnly) return texts;
    const numbers = values.flatMap((value) => {
      const number = parseNumber(value);
      const text = number === undefined ? undefined : printNumber(number);
      return text === undefined || (operator === "eqi" && text !== value) ? [] : [{ text, isNumber: true }];
    });
    return [...texts, ...numbers];
  }
}

/** Letters of other alphabets may fold to ASCII letters only. */
const isCaseless = ({ operator, values }: Test): boolean =>
  operator === "eqi" && values.every((value) => /^[\0-@[-`{-\x7f]*$/u.test(value));

/** The operators whose values an index finds. */
const isIndexed = (operator: Operator): operator is IndexedPattern["operator"] =>
  operator === "prefix" || operator === "suffix" || operator === "contains" || operator === "eqi";

function createIndexedTest(test: Test): ValueTest {
  const { operator, values } = test;
  if (!isIndexed(operator) || values.length <= maxTestedValues) return createValueTest(test);
  if (operator === "eqi") {
    const folded = new Set(values.map(foldCase));
    return (text) => folded.has(foldCase(text));
  }
  const index =
    operator === "contains" ? new Automaton(values.map((value) => [value, 1])) : new TextPatterns();
  if (index instanceof TextPatterns) for (const value of values) index.acquire({ operator, value });
  return (text) => {
    let isFound = false;
    index.find(text, () => {
      isFound = true;
    });
    return isFound;
  };
}

function simplifyCondition({ operator, values }: Test): Test {
  const simple = values.map(simplifyLike);
  const [first] = simple;
  return first !== undefined && simple.every((one) => one?.operator === first.operator)
    ? { operator: first.operator, values: simple.flatMap((one) => one?.value ?? []) }
    : { operator, values };
}

const opposites: Readonly<Partial<Record<Operator, Operator>>> = {
  eq: "ne",
  ne: "eq",
  gt: "lte",
  gte: "lt",
  lt: "gte",
  lte: "gt",
};

/** Whether it is certain that all values of one set are in another one. */
export function isSubset(inner: ValueSet, outer: ValueSet): boolean {
  const { members } = inner;
  if (members !== undefined)
    return members.length <= countTestable([outer]) && members.every((one) => outer.has(one));
  const { excluded } = outer;
  if (excluded !== undefined)
    return excluded.length <= countTestable([inner]) && excluded.every((one) => !inner.has(one));
  const [a, b] = [inner.simple, outer.simple];
  if (b.operator === "like" && b.values.some((value) => /^\*+$/u.test(value))) return true;
  if (a.operator === "ne" || b.operator === "eq" || isComparison(a.operator))
    return isComparison(a.operator) && isComparison(b.operator) && isNarrower(a, b);
  if (isComparison(b.operator)) return a.operator === "prefix" && a.values.every((one) => isWithin(one, b));
  if (a.operator === b.operator && !isIndexed(a.operator)) {
    const known = new Set(b.values);
    if (a.values.every((value) => known.has(value))) return true;
  }
  return a.values.every((value) => findRequired(a, value).some((pattern) => isPatternWithin(pattern, outer)));
}

/** Whether it is certain that two sets have no value in common. */
export function isDisjoint(one: ValueSet, other: ValueSet): boolean {
  return (
    isOutside(one, other) ||
    isOutside(other, one) ||
    (one.simple.operator === other.simple.operator &&
      isIndexed(one.simple.operator) &&
      one.simple.operator !== "contains" &&
      haveNone(one, other) &&
      haveNone(other, one))
  );
}

/** Two beginnings, two ends and two folded texts have a text in common only if one is a text of the other. */
const haveNone = ({ simple: { values } }: ValueSet, other: ValueSet): boolean =>
  values.every((text) => !other.has({ text, isNumber: false }));

function isOutside(inner: ValueSet, outer: ValueSet): boolean {
  if (isOfTimes(outer.simple) && hasNoTime(inner.simple)) return true;
  const operator = opposites[outer.simple.operator];
  return (
    operator !== undefined && isSubset(inner, new ValueSet({ ...outer.simple, operator }, outer.textsOnly))
  );
}

/** Whether a comparison holds for times only. */
const isOfTimes = ({ operator, values: [value = ""] }: Test): boolean =>
  isComparison(operator) && toComparable(value).instant !== undefined;

/** Whether all texts begin with what no time begins with. */
const hasNoTime = ({ operator, values }: Test): boolean =>
  operator === "prefix" && values.every((value) => /^\D/u.test(value));

/** How many values can be tested: wildcards and regular expressions are tested one by one. */
export function countTestable(sets: readonly ValueSet[]): number {
  const patterns = sets.reduce(
    (sum, { simple: { operator, values } }) =>
      sum + (operator === "like" || operator === "regex" ? values.length : 0),
    0,
  );
  return patterns === 0 ? Infinity : maxPatternTests / patterns;
}

/** What every text has that satisfies one value of a pattern condition. */
function findRequired({ operator }: Test, value: string): IndexedPattern[] {
  if (operator === "like") return listRequiredByLike(value);
  const pattern = isIndexed(operator) || operator === "regex" ? toIndexedPattern(operator, value) : undefined;
  return pattern === undefined ? [] : [pattern];
}

/** The shortest text with a pattern has nothing else. */
const isPatternWithin = ({ operator, value }: IndexedPattern, outer: ValueSet): boolean =>
  (operator === outer.simple.operator || (operator !== "eqi" && outer.simple.operator === "contains")) &&
  outer.has({ text: value, isNumber: false });

/** Whether all texts that begin with `start` satisfy a comparison. */
function isWithin(start: string, { operator, values: [value = ""] }: Test): boolean {
  const { number, instant } = toComparable(value);
  if (instant !== undefined) return false;
  // Numbers begin with a digit or a minus sign.
  if (number !== undefined && !/^[^\d-]/u.test(start)) return false;
  const order = compareTexts(start, value);
  if (operator === "gt" || operator === "gte") return order > 0 || (order === 0 && operator === "gte");
  return order < 0 && !value.startsWith(start);
}

const isUpper = ({ operator }: Test): boolean => operator === "lt" || operator === "lte";

/** Whether the bound of `a` is at least as narrow as that of `b`, however a value is compared. */
function isNarrower(a: Test, b: Test): boolean {
  if (isUpper(a) !== isUpper(b)) return false;
  const [x, y] = [toComparable(a.values[0] ?? ""), toComparable(b.values[0] ?? "")];
  const sameKind =
    (x.number === undefined) === (y.number === undefined) &&
    (x.instant === undefined) === (y.instant === undefined);
  if (!sameKind) return false;
  const direction = isUpper(a) ? -1 : 1;
  const mayBeEqual = !(a.operator.endsWith("e") && !b.operator.endsWith("e"));
  const holds = (order: number): boolean => order * direction > 0 || (order === 0 && mayBeEqual);
  return holds(compare(x, y)) && (x.instant !== undefined || holds(compareTexts(x.text, y.text)));
}
