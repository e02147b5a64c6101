import { compareNumbers, parseNumber, removeTrailingZeros, type Exact } from "./numbers.ts";

/** A text, parsed as a number or an instant if it is one. */
export interface Comparable {
  readonly text: string;
  /** Set if the text is a JSON number. */
  readonly number: Exact | undefined;
  /** Set if the text is an RFC 3339 date-time, or a date alone: its first instant in UTC. */
  readonly instant: Instant | undefined;
}

/**
 * Seconds since 1970, and the digits of the fraction without trailing zeros, so that no precision is lost.
 */
interface Instant {
  readonly seconds: number;
  readonly fraction: string;
}

const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d)))?$/u;

export function toComparable(text: string): Comparable {
  const number = parseNumber(text);
  return { text, number, instant: number === undefined ? parseInstant(text) : undefined };
}

/**
 * An operand is compared as its kind with values of the same kind. A time is compared with nothing else; a
 * number and a text are compared as texts with all others.
 */
export type Kind = "number" | "instant" | "text";

export function getKind({ number, instant }: Comparable): Kind {
  if (number !== undefined) return "number";
  return instant === undefined ? "text" : "instant";
}

/**
 * Compares two numbers as numbers, two RFC 3339 times as instants, and everything else as strings by code
 * points.
 */
export function compare(a: Comparable, b: Comparable): number {
  if (a.number !== undefined && b.number !== undefined) return compareNumbers(a.number, b.number);
  if (a.instant !== undefined && b.instant !== undefined) {
    return a.instant.seconds - b.instant.seconds || compareTexts(a.instant.fraction, b.instant.fraction);
  }
  return compareTexts(a.text, b.text);
}

/** Compares by code points, which is the order of UTF-8 bytes. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    // Surrogates encode the code points above all others.
    return isSurrogate(left) === isSurrogate(right) ? left - right : isSurrogate(left) ? 1 : -1;
  }
  return a.length - b.length;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

function parseInstant(text: string): Instant | undefined {
  const first = text.charCodeAt(0);
  if (!(first >= 0x30 && first <= 0x39)) return undefined;
  const found = dateTime.exec(text);
  if (found === null) return undefined;
  const read = (group: number): number => Number(found[group] ?? 0);
  const [year, month, day] = [read(1), read(2), read(3)];
  const [hour, minute, second] = [read(4), read(5), read(6)];
  const [offsetHour, offsetMinute] = [read(9), read(10)];
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offset = (offsetHour * 60 + offsetMinute) * 60 * (found[8] === "-" ? -1 : 1);
  return {
    seconds: date.getTime() / 1_000 + (hour * 60 + minute) * 60 + second - offset,
    fraction: removeTrailingZeros(found[7] ?? ""),
  };
}
