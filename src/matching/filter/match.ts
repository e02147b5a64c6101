import type { Condition, Operator } from "./filter.ts";
import { compare, toComparable, type Comparable } from "./order.ts";

/** Whether a single value, as a text, satisfies a condition. */
export type Test = (text: string) => boolean;

/** Makes the test of a condition. */
export function createTest({ operator, values }: Pick<Condition, "operator" | "values">): Test {
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

/** Makes the test of a comparison, for values that are tested more than once. */
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

/** A string, a number or a boolean as it prints; undefined for null, objects and arrays, which match nothing. */
export function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** Whether one of the values that an event has at a path satisfies a test. */
export function someValueAt(event: unknown, path: readonly string[], test: Test): boolean {
  const found = valueAt(event, path);
  if (found === listOnPath) return textsAt(event, path).some(test);
  return found !== undefined && test(found);
}

/** Says that a path leads through a list, so that an event may have several values there. */
export const listOnPath = Symbol("listOnPath");

/** The value that an event has at a path, as a text; undefined when there is none that can match. */
export function valueAt(event: unknown, path: readonly string[]): string | undefined | typeof listOnPath {
  if (Array.isArray(event)) return undefined;
  let value = event;
  for (const name of path) {
    if (Array.isArray(value)) return listOnPath;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return Array.isArray(value) ? listOnPath : toText(value);
}

/** What an event has at a path. A list of events is no event, and has no members. On the way through an array every element counts, however deep arrays lie in arrays. */
export function textsAt(event: unknown, path: readonly string[]): string[] {
  if (Array.isArray(event)) return [];
  let reached = [event];
  for (const name of path) reached = elements(reached).flatMap((value) => memberOf(value, name));
  return elements(reached).flatMap((value) => toText(value) ?? []);
}

function memberOf(value: unknown, name: string): unknown[] {
  // Only its own: an event has no member "constructor" just because every object inherits one.
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? [(value as Record<string, unknown>)[name]]
    : [];
}

/** Values, with arrays replaced by their elements. Without recursion: an event may be nested as deep as it likes. */
export function elements(values: readonly unknown[]): unknown[] {
  if (!values.some(Array.isArray)) return [...values];
  const flat: unknown[] = [];
  const waiting = values.toReversed();
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (Array.isArray(value)) for (let at = value.length - 1; at >= 0; at -= 1) waiting.push(value[at]);
    else flat.push(value);
  }
  return flat;
}
