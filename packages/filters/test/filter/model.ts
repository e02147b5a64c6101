/**
 * The meaning of filters (docs/filters.md), written a second time and without any code of the service: the
 * values of an event are collected by recursion, numbers are compared as fractions of integers, patterns
 * with JavaScript's own regular expressions.
 */
import type { Condition, FilterMember } from "../../filter/filter.ts";

type Operator = Condition["operator"];
type MemberCondition = Condition & { readonly member?: FilterMember };

/** Whether an event satisfies conditions; equalities of one name in one filter are OR. */
export function satisfiesAll(
  conditions: readonly MemberCondition[],
  event: unknown,
  record: unknown = {},
): boolean {
  return conditions.every((condition) => {
    const { path, operator, values } = condition;
    const found = collect(condition.ofRecord ? record : event, path);
    if (operator === "exists") return found.length > 0 === (values[0] === "true");
    const among =
      operator === "eq" ? conditions.filter((other) => isSameEquality(condition, other)) : [condition];
    return found.some(
      (one) => typeof one !== "object" && among.some((other) => holds(one, operator, other.values)),
    );
  });
}

const isSameEquality = (one: MemberCondition, other: MemberCondition): boolean =>
  other.operator === "eq" &&
  other.member === one.member &&
  other.ofRecord === one.ofRecord &&
  JSON.stringify(other.path) === JSON.stringify(one.path);

/** All values at a path but null, within lists at every level. */
function collect(value: unknown, path: readonly string[], isRoot = true): unknown[] {
  if (Array.isArray(value)) return isRoot ? [] : value.flatMap((one) => collect(one, path, false));
  const [name, ...rest] = path;
  if (name === undefined) return value === null || value === undefined ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  const members = new Map(Object.entries(value));
  return collect(members.get(name), rest, false);
}

/** Whether a scalar satisfies an operator. */
export function holds(scalar: unknown, operator: Operator, values: readonly string[]): boolean {
  const text = String(scalar);
  const equals = (value: string): boolean =>
    text === value || (typeof scalar === "number" && compareFractions(text, value) === 0);
  if (operator === "eq") return values.some(equals);
  if (operator === "ne") return !values.some(equals);
  return values.some((value) => applies(text, operator, value));
}

function applies(text: string, operator: Operator, value: string): boolean {
  switch (operator) {
    case "prefix":
      return text.slice(0, value.length) === value;
    case "suffix":
      return value === "" || text.slice(-value.length) === value;
    case "contains":
      return text.split(value).length > 1;
    case "eqi":
      return new RegExp(`^${escape(value)}$`, "iu").test(text);
    case "like":
      return new RegExp(`^${toExpression(value)}$`, "su").test(text);
    case "regex":
      return new RegExp(value.replace("(?i)", ""), value.startsWith("(?i)") ? "iu" : "u").test(text);
    case "gt":
      return order(text, value) > 0;
    case "gte":
      return order(text, value) >= 0;
    case "lt":
      return order(text, value) < 0;
    case "lte":
      return order(text, value) <= 0;
    default:
      throw new Error(`${operator} is not about one value`);
  }
}

const escape = (text: string): string => text.replaceAll(/[$()*+./?[\\\]^{|}]/gu, "\\$&");

/** A backslash makes the next character of a pattern itself. */
const toExpression = (pattern: string): string =>
  pattern.replaceAll(/\\(.)|(\*)|(\?)|(.)/gsu, (_all, escaped, any, one, other) =>
    any !== undefined ? ".*" : one !== undefined ? "." : escape(String(escaped ?? other)),
  );

/** Not a number, which is neither more nor less, for what is no time and is compared with one. */
function order(text: string, value: string): number {
  const numbers = compareFractions(text, value);
  if (numbers !== undefined) return numbers;
  const [one, other] = [toNanoseconds(text), toNanoseconds(value)];
  if (other !== undefined) return one === undefined ? NaN : one < other ? -1 : one > other ? 1 : 0;
  return Buffer.compare(Buffer.from(text), Buffer.from(value));
}

/** Undefined unless both are JSON numbers. */
export function compareFractions(text: string, value: string): number | undefined {
  const [one, other] = [toFraction(text), toFraction(value)];
  if (one === undefined || other === undefined) return undefined;
  const difference = one.numerator * other.denominator - other.numerator * one.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function toFraction(text: string): { numerator: bigint; denominator: bigint } | undefined {
  const parts = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:e([+-]?\d+))?$/iu.exec(text);
  if (parts === null) return undefined;
  const [, sign = "", integer = "", fraction = "", exponent = "0"] = parts;
  const power = BigInt(exponent) - BigInt(fraction.length);
  const digits = BigInt(integer + fraction) * (sign === "-" ? -1n : 1n);
  return power < 0n
    ? { numerator: digits, denominator: 10n ** -power }
    : { numerator: digits * 10n ** power, denominator: 1n };
}

/** By JavaScript's own dates, which know milliseconds and check days loosely: examples cover the rest. */
function toNanoseconds(text: string): bigint | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))?$/u.exec(text);
  if (parts === null) return undefined;
  const [, day = "", time = "T00:00:00", fraction = "", zone = "Z"] = parts;
  const ms = Date.parse(day + time + zone);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}
