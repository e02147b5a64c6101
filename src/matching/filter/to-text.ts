import { toComparable } from "./compare.ts";
import { isOperator, mergeEquals, signs, type Condition, type Filter, type Operator } from "./filter.ts";

/** Formats a filter so that parsing the text returns the same filter. */
export const printFilter = ({ conditions }: Filter): string => conditions.map(printCondition).join("&");

export function printCondition({ path, operator, values }: Condition): string {
  const last = path.at(-1) ?? "";
  const name = path.map(encodeName).join(".");
  // A name that would be read as an operator needs an explicit one: `a.gt.eq=1`.
  const left = path.length > 1 && isOperator(last) ? `${name}.${operator}=` : `${name}${signs[operator]}`;
  return left + values.map(encodeValue).join(",");
}

const encodeName = (name: string): string => encode(name, /[%&=<>!;.?]/gu);
const encodeValue = (value: string): string => encode(value, /[%&,=;]/gu);

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

const percentEncode = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

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
export function describeCondition({ path, operator, values }: Condition): string {
  const name = path.map(quoteName).join(".");
  const quoted = values.map(quoteValue);
  if (operator === "eq") return `${name} is ${joinWithOr(quoted)}`;
  if (operator !== "ne") return `${name} is ${comparisonPhrases[operator]} ${quoted.join("")}`;
  return quoted.length === 1
    ? `${name} is not ${quoted.join("")} (and is present)`
    : `${name} is none of ${quoted.join(", ")} (and is present)`;
}

const comparisonPhrases: Readonly<Record<Exclude<Operator, "eq" | "ne">, string>> = {
  gt: "greater than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
};

/** "a", "a or b", "a, b or c". */
const joinWithOr = (items: readonly string[]): string =>
  items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;

/** Quoted if it could be mistaken for several names or values, or for the word "or". */
const quoteName = (name: string): string => (/^[^\s".,]+$/u.test(name) ? name : JSON.stringify(name));
const quoteValue = (value: string): string =>
  /^[^\s",]+$/u.test(value) && value !== "or" ? value : JSON.stringify(value);

function describeComparison({ operator, values: [value = ""] }: Condition): string | undefined {
  if (operator === "eq" || operator === "ne") return undefined;
  const { number, instant } = toComparable(value);
  const quoted = quoteValue(value);
  if (number !== undefined) return `Numbers compare with ${quoted} as numbers, everything else as strings.`;
  if (instant !== undefined)
    return `RFC 3339 times compare with ${quoted} as instants, everything else as strings.`;
  return `Everything compares with ${quoted} as strings: it is neither a number nor an RFC 3339 time.`;
}
