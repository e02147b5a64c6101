import type { Condition } from "./filter.ts";
import { createComparison, createTest, type Test } from "./match.ts";
import { toComparable, compare, compareTexts, type Comparable } from "./order.ts";

/** The values that an event has at one path. */
export interface ValueList {
  /** In the event's order. */
  readonly texts: readonly string[];
  /**
   * Whether one of the values satisfies a condition. Costs no more steps than the condition has values: the list itself is
   * gone through once, however many conditions ask.
   */
  some(condition: ListCondition): boolean;
}

/** A condition, prepared for lists of values. */
export type ListCondition =
  | { readonly kind: "equal"; readonly values: readonly string[]; readonly test: Test }
  | { readonly kind: "unequal"; readonly test: Test }
  | {
      readonly kind: "comparison";
      readonly operandKind: Kind;
      /** Whether the largest value decides, or the smallest. */
      readonly extreme: "min" | "max";
      readonly holds: (value: Comparable) => boolean;
    };

/** An operand compares with values of its own kind in their order, with all others as a text. */
type Kind = "number" | "instant" | "text";

export function prepareForLists(condition: Pick<Condition, "operator" | "values">): ListCondition {
  const { operator, values } = condition;
  if (operator === "eq") return { kind: "equal", values, test: createTest(condition) };
  if (operator === "ne") return { kind: "unequal", test: createTest(condition) };
  const operand = toComparable(values[0] ?? "");
  return {
    kind: "comparison",
    operandKind: kindOf(operand),
    extreme: operator === "gt" || operator === "gte" ? "max" : "min",
    holds: createComparison(operand, operator),
  };
}

/** The smallest and the largest of the values that compare in one order; none of none. */
type Extremes = Readonly<Record<"min" | "max", readonly Comparable[]>>;

/** Prepares a list of values for conditions. */
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
          // Ends at the first value that the condition does not name.
          for (const text of distinct) if (condition.test(text)) return true;
          return false;
        case "comparison":
          extremes ??= extremesOf(texts.map(toComparable));
          return extremes[condition.operandKind][condition.extreme].some(condition.holds);
      }
    },
  };
}

/** Prepares a single value, which most events have. */
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

function kindOf({ number, instant }: Comparable): Kind {
  if (number !== undefined) return "number";
  return instant === undefined ? "text" : "instant";
}

function extremesOf(values: readonly Comparable[]): Record<Kind, Extremes> {
  const byText = (a: Comparable, b: Comparable): number => compareTexts(a.text, b.text);
  const ofKind = (kind: Kind): Extremes => {
    const [same, others] = [
      extremesIn(
        values.filter((value) => kindOf(value) === kind),
        compare,
      ),
      extremesIn(
        values.filter((value) => kindOf(value) !== kind),
        byText,
      ),
    ];
    return { min: [...same.min, ...others.min], max: [...same.max, ...others.max] };
  };
  return { number: ofKind("number"), instant: ofKind("instant"), text: extremesIn(values, byText) };
}

function extremesIn(
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
