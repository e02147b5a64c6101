import type { Condition, Operator } from "./filter.ts";
import { compare, toComparable, type Comparable } from "./compare.ts";

/** Whether a value, as a text, satisfies a condition. */
export type ValueTest = (text: string) => boolean;

export function createValueTest({ operator, values }: Pick<Condition, "operator" | "values">): ValueTest {
  const [first = ""] = values;
  if (operator === "eq" || operator === "ne") {
    const wanted = operator === "eq";
    if (values.length === 1) return (text) => (text === first) === wanted;
    const among = new Set(values);
    return (text) => among.has(text) === wanted;
  }
  const holds = createComparison(toComparable(first), operator);
  return (text) => holds(toComparable(text));
}

/** For values that are converted once and tested more than once. */
export function createComparison(
  operand: Comparable,
  operator: Exclude<Operator, "eq" | "ne">,
): (value: Comparable) => boolean {
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

/**
 * Returns a string, number or boolean as it prints; undefined for null, objects and arrays, which match
 * nothing.
 */
export function toComparedText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** Whether one of an event's values at a path satisfies a test. */
export function hasMatchingValue(event: unknown, path: readonly string[], test: ValueTest): boolean {
  const found = readText(event, path);
  if (found === listOnPath) return readTexts(event, path).some(test);
  return found !== undefined && test(found);
}

/** Returned for a path through a list, where an event may have several values. */
export const listOnPath = Symbol("listOnPath");

/** Returns the value at a path as a text; undefined if there is none that can match. */
export function readText(event: unknown, path: readonly string[]): string | undefined | typeof listOnPath {
  if (Array.isArray(event)) return undefined;
  let value = event;
  for (const name of path) {
    if (Array.isArray(value)) return listOnPath;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return Array.isArray(value) ? listOnPath : toComparedText(value);
}

/** Returns all values at a path, through every element of nested arrays. An array has no members itself. */
export function readTexts(event: unknown, path: readonly string[]): string[] {
  if (Array.isArray(event)) return [];
  let reached = [event];
  for (const name of path) reached = flattenArrays(reached).flatMap((value) => readMember(value, name));
  return flattenArrays(reached).flatMap((value) => toComparedText(value) ?? []);
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
