import type { Condition } from "./filter.ts";
import { createComparison, createValueTest, type ValueTest } from "./match.ts";
import { toComparable, compare, compareTexts, type Comparable } from "./compare.ts";

/** An event's values at one path. */
export interface ValueList {
  /** In the event's order. */
  readonly texts: readonly string[];
  /**
   * Whether one of the values satisfies a condition. Takes at most as many steps as the condition has values:
   * the list itself is read once, however many conditions ask.
   */
  some(condition: ListCondition): boolean;
}

export type ListCondition =
  | { readonly kind: "equal"; readonly values: readonly string[]; readonly test: ValueTest }
  | { readonly kind: "unequal"; readonly test: ValueTest }
  | {
      readonly kind: "comparison";
      readonly operandKind: Kind;
      /** Whether the largest or the smallest value decides. */
      readonly extreme: "min" | "max";
      readonly holds: (value: Comparable) => boolean;
    };

/** An operand is compared as its kind with values of the same kind, and as a text with all others. */
type Kind = "number" | "instant" | "text";

export function prepareForLists(condition: Pick<Condition, "operator" | "values">): ListCondition {
  const { operator, values } = condition;
  if (operator === "eq") return { kind: "equal", values, test: createValueTest(condition) };
  if (operator === "ne") return { kind: "unequal", test: createValueTest(condition) };
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

export function createValueList(texts: readonly string[]): ValueList {
  let distinct: ReadonlySet<string> | undefined;
  let extremes: Readonly<Record<Kind, Extremes>> | undefined;

  return {
    texts,
    some(condition) {
      switch (condition.kind) {
        case "equal":
          distinct ??= new Set(texts);
          return condition.values.some((value) => distinct?.has(value));
        case "unequal":
          distinct ??= new Set(texts);
          // Ends at the first value that is not one of the condition's.
          for (const text of distinct) if (condition.test(text)) return true;
          return false;
        case "comparison":
          extremes ??= findExtremesByKind(texts.map(toComparable));
          return extremes[condition.operandKind][condition.extreme].some(condition.holds);
      }
    },
  };
}

/** For a single value, the usual case. */
export function createSingleValue(text: string): ValueList {
  let comparable: Comparable | undefined;
  return {
    texts: [text],
    some(condition) {
      if (condition.kind !== "comparison") return condition.test(text);
      comparable ??= toComparable(text);
      return condition.holds(comparable);
    },
  };
}

function getKind({ number, instant }: Comparable): Kind {
  if (number !== undefined) return "number";
  return instant === undefined ? "text" : "instant";
}

function findExtremesByKind(values: readonly Comparable[]): Record<Kind, Extremes> {
  const byText = (a: Comparable, b: Comparable): number => compareTexts(a.text, b.text);
  const ofKind = (kind: Kind): Extremes => {
    const [same, others] = [
      findExtremes(
        values.filter((value) => getKind(value) === kind),
        compare,
      ),
      findExtremes(
        values.filter((value) => getKind(value) !== kind),
        byText,
      ),
    ];
    return { min: [...same.min, ...others.min], max: [...same.max, ...others.max] };
  };
  return { number: ofKind("number"), instant: ofKind("instant"), text: findExtremes(values, byText) };
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
