/** A number whose value a double would change. 0.DIGITS × 10^exponent; no leading or trailing zeros. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/** The exact value of a JSON number. */
export type Exact = number | Decimal;

/**
 * A number of an event that a double would change (`parseEvent`). A class, so that it differs from all that
 * JSON can contain.
 */
export class LongNumber {
  /** The same for every notation of the value. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?$/u;
/** A decimal of at most 15 digits and its double are unique to each other. */
const maxSafeLength = 15;
/** Exponents beyond this are no longer exact themselves: such a text counts as one that is not a number. */
const maxExponent = 1e15;

/** Returns the exact value of a JSON number (RFC 8259, section 6); undefined for every other text. */
export function parseNumber(text: string): Exact | undefined {
  const first = text.charCodeAt(0);
  // Most texts are not numbers; this is faster than the expression.
  if (!(first >= 0x30 && first <= 0x39) && first !== 0x2d) return undefined;
  if (!jsonNumber.test(text)) return undefined;
  const double = Number(text);
  if (text.length <= maxSafeLength && !/[Ee]/.test(text)) return double;
  const decimal = toDecimal(text);
  if (decimal === undefined) return undefined;
  if (!Number.isFinite(double)) return decimal;
  const rounded = toDecimal(String(double));
  return rounded !== undefined && compareDecimals(rounded, decimal) === 0 ? double : decimal;
}

/** Returns the same text for every notation of a value: as JavaScript prints it, if a double is exact. */
export function printNumber(number: Exact): string {
  if (typeof number === "number") return String(number);
  const { isNegative, digits, exponent } = number;
  return (isNegative ? "-" : "") + printDigits(digits, exponent);
}

/** A number may have more zeros than fit into memory. */
const maxZeros = 30;

function printDigits(digits: string, exponent: number): string {
  const zeros = exponent - digits.length;
  if (zeros >= 0 && zeros <= maxZeros) return digits + "0".repeat(zeros);
  if (zeros < 0 && exponent > 0) return `${digits.slice(0, exponent)}.${digits.slice(exponent)}`;
  if (exponent <= 0 && exponent >= -maxZeros) return `0.${"0".repeat(-exponent)}${digits}`;
  return `0.${digits}e${exponent}`;
}

/** Compares exact values. */
export function compareNumbers(a: Exact, b: Exact): number {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  return compareDecimals(widen(a), widen(b));
}

const zero: Decimal = { isNegative: false, digits: "", exponent: 0 };

const widen = (number: Exact): Decimal =>
  typeof number === "number" ? (toDecimal(String(number)) ?? zero) : number;

function compareDecimals(a: Decimal, b: Decimal): number {
  const [signA, signB] = [getSign(a), getSign(b)];
  if (signA !== signB || signA === 0) return signA - signB;
  return signA === 1 ? compareMagnitudes(a, b) : compareMagnitudes(b, a);
}

const getSign = ({ isNegative, digits }: Decimal): number => (digits === "" ? 0 : isNegative ? -1 : 1);

/** Fractions without trailing zeros have the order of their digits. */
function compareMagnitudes(a: Decimal, b: Decimal): number {
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -1 : 1;
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1;
}

/** Undefined if the exponent is too large to be exact. */
function toDecimal(text: string): Decimal | undefined {
  const isNegative = text.startsWith("-");
  const end = text.search(/[Ee]/u);
  const mantissa = text.slice(isNegative ? 1 : 0, end < 0 ? text.length : end);
  const point = mantissa.indexOf(".");
  const integer = point < 0 ? mantissa : mantissa.slice(0, point);
  const all = point < 0 ? mantissa : integer + mantissa.slice(point + 1);
  let start = 0;
  while (start < all.length && all.charCodeAt(start) === 0x30) start += 1;
  const digits = removeTrailingZeros(all.slice(start));
  if (digits === "") return zero;
  const exponent = end < 0 ? 0 : Number(text.slice(end + 1));
  if (Math.abs(exponent) > maxExponent) return undefined;
  return { isNegative, digits, exponent: exponent + integer.length - start };
}

/** By hand: a regular expression would try every zero of a long text as the first of the trailing ones. */
export function removeTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(0, end);
}

/** What a number of at least 16 digits, or with a large exponent, looks like in JSON, or in a string. */
const longNumber = String.raw`(?:^|[:,[])\s*(-?(?:[\d.]{16}[\d.]*(?:[Ee][+-]?\d+)?|\d[\d.]*[Ee][+-]?\d{3}\d*))`;
const longNumbers = new RegExp(longNumber, "gu");

/**
 * Parses JSON as `JSON.parse` does, without loss: a number that a double would change becomes a LongNumber,
 * which filters compare exactly. A byte order mark is ignored (RFC 8259, section 8.1). Throws SyntaxError.
 */
export function parseEvent(text: string): unknown {
  const json = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const event: unknown = JSON.parse(json);
  return hasLongNumber(json) ? JSON.parse(json, keepLongNumber) : event;
}

function hasLongNumber(json: string): boolean {
  if (!hasLongDigits(json) && !largeExponent.test(json)) return false;
  for (const [, text = ""] of json.matchAll(longNumbers)) if (toLongNumber(text) !== undefined) return true;
  return false;
}

const largeExponent = /\d[Ee][+-]?\d{3}/u;
const minLongDigits = 16;

/** Looks at every 16th character first, unlike an expression for 16 characters in a row. */
function hasLongDigits(json: string): boolean {
  for (let at = minLongDigits - 1; at < json.length; at += minLongDigits) {
    if (!isDigitOrPoint(json, at)) continue;
    let [from, to] = [at, at + 1];
    while (at - from < minLongDigits && isDigitOrPoint(json, from - 1)) from -= 1;
    while (to - from < minLongDigits && isDigitOrPoint(json, to)) to += 1;
    if (to - from >= minLongDigits) return true;
  }
  return false;
}

/** False before and after the text, where the code is NaN. */
function isDigitOrPoint(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

function toLongNumber(text: string): LongNumber | undefined {
  const number = parseNumber(text);
  return number === undefined || typeof number === "number" ? undefined : new LongNumber(printNumber(number));
}

/** `source` is the number as it was written (ECMAScript proposal "JSON.parse source text access"). */
const keepLongNumber = (
  _name: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown => (typeof value === "number" && source !== undefined ? (toLongNumber(source) ?? value) : value);
