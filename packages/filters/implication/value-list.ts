import {
  toComparable,
  compare,
  compareTexts,
  getKind,
  type Comparable,
  type Kind,
} from "../filter/compare.ts";
import { isComparison, type Condition } from "../filter/filter.ts";
import {
  createComparison,
  createValueTest,
  isNumber,
  toNumberText,
  printScalar,
  scalarToComparable,
  type Scalar,
  type ValueTest,
} from "../filter/match.ts";

/** An event's values at one path. */
export interface ValueList {
  /**
   * Whether one of the values satisfies a condition. Takes at most as many steps as the condition has values:
   * the list itself is read once, however many conditions ask.
   */
  some(condition: ListCondition): boolean;
  /** Calls back with each distinct text, until a callback returns true. Returns whether one did. */
  someText(test: (text: string) => boolean): boolean;
  /** Whether none of the values is a time. */
  hasNoTime(): boolean;
}

export type ListCondition =
  | {
      readonly kind: "equal";
      readonly values: readonly string[];
      /** How numbers print that equal one of the values. */
      readonly numbers: readonly string[];
      readonly test: ValueTest;
    }
  | { readonly kind: "unequal"; readonly test: ValueTest }
  | {
      readonly kind: "comparison";
      readonly operandKind: Kind;
      /** Whether the largest or the smallest value decides. */
      readonly extreme: "min" | "max";
      readonly holds: (value: Comparable) => boolean;
    };

/** For equalities, their negation and comparisons. */
export function prepareForLists(condition: Pick<Condition, "operator" | "values">): ListCondition {
  const { operator, values } = condition;
  if (operator === "eq") {
    const numbers = values.flatMap((value) => toNumberText(value) ?? []);
    return { kind: "equal", values, numbers, test: createValueTest(condition) };
  }
  if (!isComparison(operator)) return { kind: "unequal", test: createValueTest(condition) };
  const operand = toComparable(values[0] ?? "");
  return {
    kind: "comparison",
    operandKind: getKind(operand),
    extreme: operator === "gt" || operator === "gte" ? "max" : "min",
    holds: createComparison(operand, operator),
  };
}

/** The smallest and the largest values, one per order in which they are compared. */
type Extremes = Readonly<Record<"min" | "max", readonly Comparable[]>>;

/** Distinct texts, apart from how numbers print: "10" is another value than 10. */
interface Distinct {
  readonly texts: Set<string>;
  readonly numbers: Set<string>;
}

export function createValueList(values: readonly Scalar[]): ValueList {
  let distinct: Distinct | undefined;
  let extremes: Readonly<Record<Kind, Extremes>> | undefined;
  const getDistinct = (): Distinct => (distinct ??= findDistinct(values));
  const getExtremes = () => (extremes ??= findExtremesByKind(values.map(scalarToComparable)));
  const someText = (test: ValueTest): boolean => {
    const { texts, numbers } = getDistinct();
    for (const text of texts) if (test(text, false)) return true;
    for (const text of numbers) if (test(text, true)) return true;
    return false;
  };

  return {
    someText,
    hasNoTime: () => getExtremes().instant.max.length === 0,
    some(condition) {
      switch (condition.kind) {
        case "equal": {
          const { texts, numbers } = getDistinct();
          return (
            condition.values.some((value) => texts.has(value) || numbers.has(value)) ||
            condition.numbers.some((text) => numbers.has(text))
          );
        }
        case "unequal":
          // Ends at the first value that is not one of the condition's.
          return someText(condition.test);
        case "comparison":
          return getExtremes()[condition.operandKind][condition.extreme].some(condition.holds);
      }
    },
  };
}

function findDistinct(values: readonly Scalar[]): Distinct {
  const distinct: Distinct = { texts: new Set(), numbers: new Set() };
  for (const value of values) (isNumber(value) ? distinct.numbers : distinct.texts).add(printScalar(value));
  return distinct;
}

/** For a single value, the usual case. */
export function createSingleValue(value: Scalar): ValueList {
  let comparable: Comparable | undefined;
  const getComparable = (): Comparable => (comparable ??= scalarToComparable(value));
  return {
    someText: (test) => test(printScalar(value)),
    hasNoTime: () => getComparable().instant === undefined,
    some: (condition) =>
      condition.kind === "comparison"
        ? condition.holds(getComparable())
        : condition.test(printScalar(value), isNumber(value)),
  };
}

function findExtremesByKind(values: readonly Comparable[]): Record<Kind, Extremes> {
  const byText = (a: Comparable, b: Comparable): number => compareTexts(a.text, b.text);
  const ofKind = (kind: Kind): Extremes =>
    findExtremes(
      values.filter((value) => getKind(value) === kind),
      compare,
    );
  const [numbers, others] = [
    ofKind("number"),
    findExtremes(
      values.filter((value) => getKind(value) !== "number"),
      byText,
    ),
  ];
  return {
    number: { min: [...numbers.min, ...others.min], max: [...numbers.max, ...others.max] },
    // Only times are compared with a time.
    instant: ofKind("instant"),
    text: findExtremes(values, byText),
  };
}

function findExtremes(
  values: readonly Comparable[],
  order: (a: Comparable, b: Comparable) => number,
): Extremes {
  const [first] = values;
  if (first === undefined) return { min: [], max: [] };
  let [min, max] = [first, first];
  for (const value of values) {
    if (order(value, min) < 0) min = value;
    if (order(value, max) > 0) max = value;
  }
  return { min: [min], max: [max] };
}
