import { compare, toComparable, type Comparable } from "./compare.ts";
import { isComparison, type Comparison, type Condition } from "./filter.ts";
import { LongNumber, parseNumber, printNumber } from "./numbers.ts";
import { createPatternTest } from "../patterns/patterns.ts";

/** A value that conditions compare with. Null, objects and arrays are not. */
export type Scalar = string | number | boolean | LongNumber;

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "boolean" ||
  value instanceof LongNumber;

/** Returns a scalar as it prints; a number the same in every notation. */
export const printScalar = (scalar: Scalar): string =>
  typeof scalar === "string" ? scalar : scalar instanceof LongNumber ? scalar.text : String(scalar);

export const isNumber = (scalar: Scalar): boolean =>
  typeof scalar === "number" || scalar instanceof LongNumber;

/** As `toComparable` of the text, which is printed only if it is needed. */
export const scalarToComparable = (scalar: Scalar): Comparable =>
  typeof scalar === "number" && Number.isFinite(scalar)
    ? new ComparableNumber(scalar)
    : toComparable(printScalar(scalar));

class ComparableNumber implements Comparable {
  readonly number: number;
  readonly instant = undefined;

  constructor(number: number) {
    this.number = number;
  }

  get text(): string {
    return String(this.number);
  }
}

/** Whether a value, as a text, satisfies a condition. */
export type ValueTest = (text: string, isNumber: boolean) => boolean;

/** For every operator but "exists", which is about all values of a path. */
export function createValueTest({ operator, values }: Pick<Condition, "operator" | "values">): ValueTest {
  if (operator === "exists") throw new Error("exists is not about single values");
  if (operator === "eq" || operator === "ne") return createEqualityTest(values, operator === "eq");
  if (!isComparison(operator)) return createPatternTest(operator, values);
  const holds = createComparison(toComparable(values[0] ?? ""), operator);
  return (text) => holds(toComparable(text));
}

function createEqualityTest(values: readonly string[], wanted: boolean): ValueTest {
  const [first = ""] = values;
  const numbers = values.flatMap((value) => toNumberText(value) ?? []);
  if (numbers.length > 0) {
    const [texts, among] = [new Set(values), new Set(numbers)];
    return (text, isNumber) => (texts.has(text) || (isNumber && among.has(text))) === wanted;
  }
  if (values.length === 1) return (text) => (text === first) === wanted;
  const texts = new Set(values);
  return (text) => texts.has(text) === wanted;
}

/**
 * Returns how a number prints that a value also equals; undefined if it is the value itself, or the value is
 * not a number. A text of an event equals only the same text: "1.10" is not "1.1".
 */
export function toNumberText(value: string): string | undefined {
  const number = parseNumber(value);
  if (number === undefined) return undefined;
  const text = printNumber(number);
  return text === value ? undefined : text;
}

/** For values that are converted once and tested more than once. Only times are compared with a time. */
export function createComparison(operand: Comparable, operator: Comparison): (value: Comparable) => boolean {
  const holds = createOrderTest(operand, operator);
  return operand.instant === undefined ? holds : (value) => value.instant !== undefined && holds(value);
}

function createOrderTest(operand: Comparable, operator: Comparison): (value: Comparable) => boolean {
  switch (operator) {
    case "gt":
      return (value) => compare(value, operand) > 0;
    case "gte":
      return (value) => compare(value, operand) >= 0;
    case "lt":
      return (value) => compare(value, operand) < 0;
    case "lte":
      return (value) => compare(value, operand) <= 0;
  }
}

/** Returns the plain meaning of a condition: whether an event satisfies it. */
export function createConditionTest({ path, operator, values }: Condition): (event: unknown) => boolean {
  if (operator === "exists") {
    const wanted = values[0] === "true";
    return (event) => someValue(event, path, () => true) === wanted;
  }
  const test = createValueTest({ operator, values });
  return (event) =>
    someValue(event, path, (value) => isScalar(value) && test(printScalar(value), isNumber(value)));
}

/** Lists are seldom on a path: collecting the values of a path takes several times as long as reading one. */
function someValue(event: unknown, path: readonly string[], test: (value: unknown) => boolean): boolean {
  const value = readValue(event, path);
  if (value === listOnPath) return readValues(event, path).some(test);
  return value !== undefined && test(value);
}

/** Returned for a path through a list, where an event may have several values. */
export const listOnPath = Symbol("listOnPath");

/** Returns the value at a path: an object as well; undefined for null, and if there is none. */
export function readValue(event: unknown, path: readonly string[]): unknown {
  if (Array.isArray(event)) return undefined;
  let value = event;
  for (const name of path) {
    if (Array.isArray(value)) return listOnPath;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return Array.isArray(value) ? listOnPath : (value ?? undefined);
}

/**
 * Returns all values at a path, objects included, through every element of nested arrays. An array has no
 * members itself.
 */
export function readValues(event: unknown, path: readonly string[]): unknown[] {
  if (Array.isArray(event)) return [];
  let reached = [event];
  for (const name of path) reached = flattenArrays(reached).flatMap((value) => readMember(value, name));
  return flattenArrays(reached).filter((value) => value !== null && value !== undefined);
}

function readMember(value: unknown, name: string): unknown[] {
  // Own members only: every object inherits a "constructor".
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? [(value as Record<string, unknown>)[name]]
    : [];
}

/** Replaces arrays by their elements, without recursion: events may be nested deeply. */
export function flattenArrays(values: readonly unknown[]): unknown[] {
  if (!values.some(Array.isArray)) return [...values];
  const flat: unknown[] = [];
  const stack = values.toReversed();
  while (stack.length > 0) {
    const value = stack.pop();
    if (Array.isArray(value)) for (let at = value.length - 1; at >= 0; at -= 1) stack.push(value[at]);
    else flat.push(value);
  }
  return flat;
}
