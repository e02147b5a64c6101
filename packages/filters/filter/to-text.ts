import { toComparable } from "./compare.ts";
import { isComparison, mergeEquals, signs, type Condition, type Filter } from "./filter.ts";
import { splitLike } from "../patterns/like.ts";
import { needsEncoding, needsSuffix } from "./look-alike-values.ts";
import { needsOperator, percentEncode } from "./look-alikes.ts";
import { parseNumber } from "./numbers.ts";

/** Formats a filter so that parsing the text returns the same filter. */
export const printFilter = ({ conditions }: Filter): string => conditions.map(printCondition).join("&");

export function printCondition({ path, ofRecord, operator, values }: Condition): string {
  const last = path.at(-1) ?? "";
  const name = ofRecord ? printRecordName(path) : printPath(path);
  const hasSuffix = (path.length > 1 && needsOperator(last)) || needsSuffix(operator, values);
  const sign = hasSuffix ? undefined : signs[operator];
  return (sign === undefined ? `${name}.${operator}=` : name + sign) + printValues(operator, values);
}

/** Formats a path of the event as the name of a condition. */
export const printPath = (path: readonly string[]): string => path.map(encodeName).join(".");

const printRecordName = ([root = "", ...names]: readonly string[]): string =>
  [root, ...names.map((name) => encodeOuterSpace(name.replaceAll(/[%&=<>!;*]/gu, percentEncode)))].join(".");

function printValues(operator: Condition["operator"], values: readonly string[]): string {
  if (operator === "regex") return values.map((value) => encode(value, /[%&=;]|^~|[${](?=\{)/gu)).join("");
  if (operator === "like") return values.map(printLike).join(",");
  return values
    .map((value) =>
      needsEncoding(operator, value)
        ? percentEncode(value) + encodeValue(value.slice(1))
        : encodeValue(value),
    )
    .join(",");
}

const printLike = (pattern: string): string =>
  splitLike(pattern)
    .map((part) => ("text" in part ? encode(part.text, /[%&,=;*?<>]|^~|[${](?=\{)/gu) : part.wildcard))
    .join("");

/** What other languages write in names and values is encoded. */
const encodeName = (name: string): string =>
  encode(name, /[%&=<>!;.?()~|[\]*^$"]|^\/|(?<=^(?:not|and|or))[ \t]|\{(?=\{)/giu);
const encodeValue = (value: string): string =>
  encode(value, /[%&,=;*^|<>]|^[!~"([{]|^'(?=[^]*'$)|[${](?=\{)/gu);

const encode = (text: string, special: RegExp): string =>
  encodeOuterSpace(text.replaceAll(special, percentEncode));

/** By hand: a regular expression would try every space within the text as the first of the trailing ones. */
function encodeOuterSpace(text: string): string {
  const inner = text.trim();
  if (inner.length === text.length) return text;
  const start = text.length - text.trimStart().length;
  const end = start + inner.length;
  return encodeURIComponent(text.slice(0, start)) + inner + encodeURIComponent(text.slice(end));
}

/** A filter in English. */
export interface FilterDescription {
  /** A phrase per condition, equalities of one name merged. Empty for a filter that matches every event. */
  readonly conditions: readonly string[];
  /** Sentences about how values are compared. */
  readonly notes: readonly string[];
}

/** Describes a filter in English. The result contains text of the filter: escape it before showing it. */
export function describeFilter(filter: Filter): FilterDescription {
  const { conditions } = mergeEquals(filter);
  const notes = conditions.flatMap((condition) => describeComparison(condition) ?? []);
  if (conditions.length > 0) notes.push("A list matches if one of its elements does.");
  return { conditions: conditions.map(describeCondition), notes: [...new Set(notes)] };
}

/** Describes a condition: "severity is Critical or Major". */
function describeCondition({ path, ofRecord, operator, values }: Condition): string {
  const name = ofRecord ? printRecordName(path) : path.map(quoteName).join(".");
  if (operator === "exists") return `${name} ${values[0] === "true" ? "is present" : "is absent"}`;
  const quoted = values.map(quoteValue);
  if (operator !== "ne") return `${name} ${phrases[operator]} ${joinWithOr(quoted)}`;
  return quoted.length === 1
    ? `${name} is not ${quoted.join("")} (and is present)`
    : `${name} is none of ${quoted.join(", ")} (and is present)`;
}

const phrases: Readonly<Record<Exclude<Condition["operator"], "ne" | "exists">, string>> = {
  eq: "is",
  gt: "is greater than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  prefix: "begins with",
  suffix: "ends with",
  contains: "contains",
  eqi: "is, ignoring case,",
  like: "is like",
  regex: "matches the regular expression",
};

/** "a", "a or b", "a, b or c". */
const joinWithOr = (items: readonly string[]): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;

/** Quoted if it could be mistaken for several names. */
const quoteName = (name: string): string => (/^[^\s".,]+$/u.test(name) ? name : JSON.stringify(name));
/** Numbers and booleans also equal those of an event; everything else is a text: "null" is not null. */
const quoteValue = (value: string): string =>
  parseNumber(value) !== undefined || value === "true" || value === "false" ? value : JSON.stringify(value);

function describeComparison({ operator, values: [value = ""] }: Condition): string | undefined {
  if (operator === "like") return "In a pattern, * stands for any characters and ? for one.";
  if (!isComparison(operator)) return undefined;
  const { number, instant } = toComparable(value);
  const quoted = quoteValue(value);
  if (number !== undefined) return `Numbers compare with ${quoted} as numbers, everything else as strings.`;
  if (instant !== undefined)
    return `Only RFC 3339 times compare with ${quoted}, as instants; everything else does not match.`;
  return `Everything compares with ${quoted} as strings: it is neither a number nor an RFC 3339 time.`;
}
