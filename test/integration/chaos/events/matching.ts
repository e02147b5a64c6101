import type { TopicDefinition } from "../../../../src/topics/topic.ts";

/** Returns the event's values at a path, as texts. */
export type FindValues = (path: string) => readonly string[];

/** Whether an event belongs to a topic. */
export type EventTest = (find: FindValues) => boolean;

/**
 * Evaluates the filters of a topic one condition after another, as docs/filters.md describes them. Shares no
 * code with the service. Supports as much of the language as the chaos test announces.
 */
export function createEventTest({
  headerQuery,
  contentQuery,
}: Pick<TopicDefinition, "headerQuery" | "contentQuery">): EventTest {
  const conditions = [
    ...parse(headerQuery, (path) => path),
    ...parse(contentQuery, (path) => (path.startsWith("event.") ? path : `event.${path}`)),
  ];
  return (find) => conditions.every(({ path, holds }) => find(path).some(holds));
}

interface Condition {
  readonly path: string;
  readonly holds: (value: string) => boolean;
}

function parse(filter: string, toPath: (path: string) => string): Condition[] {
  const conditions: Condition[] = [];
  /** The alternatives of each path: a path that is repeated with `=` adds to them. */
  const alternatives = new Map<string, string[]>();
  for (const part of filter.split("&").filter((one) => one !== "")) {
    const [, name = "", operator = "", list = ""] = /^([^!<>=]+)(!=|<=|>=|=|<|>)(.*)$/.exec(part) ?? [];
    const path = toPath(name);
    const values = list.split(",").map(decodeURIComponent);
    const [first = ""] = values;
    if (operator === "=") alternatives.set(path, [...(alternatives.get(path) ?? []), ...values]);
    else if (operator === "!=") conditions.push({ path, holds: (value) => !values.includes(value) });
    else conditions.push({ path, holds: (value) => isOrdered(operator, compare(value, first)) });
  }
  const equalities = [...alternatives].map(([path, values]) => ({
    path,
    holds: (value: string) => values.includes(value),
  }));
  return [...equalities, ...conditions];
}

function isOrdered(operator: string, order: number): boolean {
  switch (operator) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    default:
      throw new Error(`unsupported operator: ${operator}`);
  }
}

function compare(one: string, other: string): number {
  for (const convert of [toNumber, toTime]) {
    const [a, b] = [convert(one), convert(other)];
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  }
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

const toNumber = (text: string): number => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN);
const toTime = (text: string): number => (/^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN);

/** Looks each path up once. */
export function createValueFinder(event: unknown): FindValues {
  const found = new Map<string, readonly string[]>();
  return (path) => {
    let values = found.get(path);
    if (values === undefined) {
      values = collect(event, path.split("."));
      found.set(path, values);
    }
    return values;
  };
}

function collect(value: unknown, [name, ...rest]: readonly string[]): string[] {
  if (Array.isArray(value))
    return value.flatMap((element) => collect(element, name === undefined ? [] : [name, ...rest]));
  if (typeof value === "object" && value !== null)
    return name !== undefined && Object.hasOwn(value, name) ? collect(Reflect.get(value, name), rest) : [];
  const isText = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return name === undefined && isText ? [String(value)] : [];
}
