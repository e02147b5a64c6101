import {
  FilterSyntaxError,
  getOperator,
  isComparison,
  limits,
  type Condition,
  type Filter,
  type FilterMember,
  type Operator,
} from "./filter.ts";
import { findCureOfWords, mayBeSuffix, rejectForeignName, rejectForeignSuffix } from "./look-alikes.ts";
import { rejectForeignValues } from "./look-alike-values.ts";
import { rejectNearTime } from "./near-times.ts";
import { PatternBudget } from "../patterns/pattern-budget.ts";
import { emptyValueProblem, readLike, readRegex } from "../patterns/read-patterns.ts";
import { decodePart, split, trimEnd, trimStart } from "./scan.ts";

/**
 * Parses a filter (specification 2.4, contract section 5):
 *
 * ```
 * filter    = [ condition *( "&" condition ) ]
 * condition = name ( sign | "." suffix "=" ) value *( "," value )
 * name      = segment *( "." segment )
 * sign      = "=" | "==" | "!=" | ">" | ">=" | "<" | "<=" | "*=" | "=~"
 * ```
 *
 * Space around names and values is ignored; `%XX` is decoded after splitting. In a `contentQuery`, a leading
 * `event.` of a name is ignored. Takes time in proportion to the text's length and to the `budget` of the
 * topic that the filter belongs to. Throws FilterSyntaxError only.
 */
export function parseFilter(
  text: string,
  member: FilterMember = "headerQuery",
  budget = PatternBudget.forTopic(),
): Filter {
  if (text.length > limits.characters) {
    throw new FilterSyntaxError(
      `has ${text.length} characters; at most ${limits.characters} are allowed`,
      limits.characters,
    );
  }
  const known = member === "headerQuery" ? knownFilters.get(text) : undefined;
  if (known !== undefined) return known;
  if (text.trim() === "") return { conditions: [] };
  const conditions: Condition[] = [];
  let values = 0;
  for (let start = 0; start <= text.length;) {
    if (conditions.length === limits.conditions)
      throw new FilterSyntaxError(`has more than ${limits.conditions} conditions`, start);
    const { condition, end } = parseCondition(text, start, { member, budget });
    values += condition.values.length;
    if (values > limits.values) throw new FilterSyntaxError(`has more than ${limits.values} values`, start);
    conditions.push(condition);
    start = end + 1;
  }
  const filter = { conditions };
  // A pattern spends some of each topic's budget.
  const isKept = member === "headerQuery" && !conditions.some(({ operator }) => isPattern(operator));
  return isKept ? remember(knownFilters, text, filter) : filter;
}

const isPattern = (operator: Operator): boolean => operator === "like" || operator === "regex";

interface ParsedFilter {
  readonly member: FilterMember;
  readonly budget: PatternBudget;
}

function parseCondition(
  text: string,
  start: number,
  { member, budget }: ParsedFilter,
): { condition: Condition; end: number } {
  let sign = findSign(text, start);
  const { path, ofRecord, suffix } = readName(text, start, sign.start, member);
  // After a suffix, "~" belongs to the value.
  if (suffix !== undefined && text[sign.end - 1] === "~")
    sign = { ...sign, operator: "eq", end: sign.end - 1 };
  const isPlainSign = sign.end - sign.start === 1 && sign.operator === "eq";
  if (suffix !== undefined && !isPlainSign) {
    throw new FilterSyntaxError(
      `has two operators, ".${suffix}" and "${text.slice(sign.start, sign.end)}"; use one of them`,
      sign.start,
    );
  }
  const operator = suffix === undefined ? sign.operator : (getOperator(suffix) ?? "eq");
  const end = findValuesEnd(text, sign.end);
  rejectForeignValues(text, { start: sign.end, end, operator, suffix });
  const values = readValues({ operator, budget }, text, sign.end, end);
  return { condition: ofRecord ? { path, ofRecord, operator, values } : { path, operator, values }, end };
}

function readValues(
  { operator, budget }: { readonly operator: Operator; readonly budget: PatternBudget },
  text: string,
  start: number,
  end: number,
): string[] {
  if (operator === "regex") return [readRegex(text, start, end, budget)];
  if (operator === "like")
    return parseValues(text, start, end, (all, from, to) => readLike(all, from, to, budget));
  if (operator === "exists") return [readBoolean(text, start, end)];
  const values = parseValues(text, start, end);
  if (!isComparison(operator)) return values;
  if (values.length > 1)
    throw new FilterSyntaxError("compares with several values; a comparison takes one", start);
  rejectNearTime(values[0] ?? "", trimStart(text, start, end));
  return values;
}

function readBoolean(text: string, start: number, end: number): string {
  const value = text.slice(start, end).trim();
  if (value === "true" || value === "false") return value;
  throw new FilterSyntaxError('has a value other than "true" and "false" after .exists=', start);
}

const codes = {
  ampersand: 0x26,
  asterisk: 0x2a,
  comma: 0x2c,
  dot: 0x2e,
  dollar: 0x24,
  exclamation: 0x21,
  semicolon: 0x3b,
  less: 0x3c,
  equal: 0x3d,
  greater: 0x3e,
  tilde: 0x7e,
} as const;

interface Sign {
  readonly operator: Operator;
  readonly start: number;
  readonly end: number;
}

function findSign(text: string, start: number): Sign {
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case codes.equal:
        if (text.charCodeAt(at + 1) === codes.tilde) return { operator: "regex", start: at, end: at + 2 };
        return { operator: "eq", start: at, end: isEqualSign(text, at + 1) ? at + 2 : at + 1 };
      case codes.asterisk:
        if (isEqualSign(text, at + 1)) return { operator: "regex", start: at, end: at + 2 };
        break;
      case codes.greater:
        return isEqualSign(text, at + 1)
          ? { operator: "gte", start: at, end: at + 2 }
          : { operator: "gt", start: at, end: at + 1 };
      case codes.less:
        return isEqualSign(text, at + 1)
          ? { operator: "lte", start: at, end: at + 2 }
          : { operator: "lt", start: at, end: at + 1 };
      case codes.exclamation:
        if (isEqualSign(text, at + 1)) return { operator: "ne", start: at, end: at + 2 };
        break;
      case codes.semicolon:
        throw createSemicolonError(at);
      case codes.ampersand:
        throw createMissingSignError(text, start, at);
    }
  }
  throw createMissingSignError(text, start, text.length);
}

const isEqualSign = (text: string, at: number): boolean => text.charCodeAt(at) === codes.equal;

function createMissingSignError(text: string, start: number, end: number): FilterSyntaxError {
  const name = text.slice(start, end).trim();
  if (name !== "") {
    const cure = findCureOfWords(name) ?? "expected =, !=, >, >=, < or <=";
    return new FilterSyntaxError(`has no operator after "${name}"; ${cure}`, end);
  }
  return new FilterSyntaxError('has no condition here; expected "name=value"', end);
}

const createSemicolonError = (at: number): FilterSyntaxError =>
  new FilterSyntaxError(
    'has a ";", which is ambiguous: the examples of TMF630 use it for AND and for OR; write "&" for AND, "," for OR, "%3B" for the character itself',
    at,
  );

interface Name extends Pick<Condition, "path" | "ofRecord"> {
  /** An operator, as it is written. */
  readonly suffix: string | undefined;
}

/** Names that were parsed, as they are written. A million filters share a few names and their paths. */
const knownNames = { headerQuery: new Map<string, Name>(), contentQuery: new Map<string, Name>() };
/** Most topics share a few header queries, too: the types of events. */
const knownFilters = new Map<string, Filter>();
const maxKnown = 1_000;
const maxKnownLength = 64;

function remember<T>(known: Map<string, T>, written: string, parsed: T): T {
  if (written.length > maxKnownLength) return parsed;
  if (known.size === maxKnown) known.clear();
  known.set(written, parsed);
  return parsed;
}

function readName(text: string, start: number, end: number, member: FilterMember): Name {
  const known = knownNames[member];
  const written = text.slice(start, end);
  const name = known.get(written);
  if (name !== undefined) return name;
  return remember(known, written, parseName(text, start, end, member));
}

function parseName(text: string, from: number, to: number, member: FilterMember): Name {
  const start = trimStart(text, from, to);
  const end = trimEnd(text, start, to);
  if (start === end) throw new FilterSyntaxError("has no name before the operator", to);
  if (text[start] === "?") {
    throw new FilterSyntaxError('begins with a "?", which belongs to a URL; leave it out', start);
  }
  const suffix = findSuffix(text, start, end);
  const namesEnd = suffix === undefined ? end : text.lastIndexOf(".", end - 1);
  if (text.charCodeAt(start) === codes.dollar)
    return { path: parseRecordName(text, start, namesEnd, member), ofRecord: true, suffix };
  rejectForeignName(text, start, namesEnd);
  let names = 1;
  for (let at = start; at < namesEnd; at += 1) if (text.charCodeAt(at) === codes.dot) names += 1;
  if (names > limits.depth) {
    throw new FilterSyntaxError(`has a path of more than ${limits.depth} names`, start);
  }
  const emptyProblem = "has an empty name in a path; expected a name between the dots";
  const path = split(text, { start, end: namesEnd, separator: codes.dot, emptyProblem });
  return { path: member === "contentQuery" ? removeEventPrefix(path) : path, suffix };
}

/**
 * Removes a leading `event.`, unless the rest begins with `event.` as well: parsing it again would remove
 * that, too.
 */
function removeEventPrefix(path: readonly string[]): readonly string[] {
  if (path[0] !== "event" || path.length === 1) return path;
  return path[1] === "event" && path.length > 2 ? path : path.slice(1);
}

/** The operator after the last dot of a name. */
function findSuffix(text: string, start: number, end: number): string | undefined {
  const dot = text.lastIndexOf(".", end - 1);
  if (dot < start) return undefined;
  const first = trimStart(text, dot + 1, end);
  if (!mayBeSuffix(text, first, end)) return undefined;
  const name = text.slice(first, end);
  if (getOperator(name) !== undefined) return name;
  rejectForeignSuffix(name, first);
  return undefined;
}

/** A name that begins with `$`: the data of the record that carries the event. */
function parseRecordName(text: string, start: number, end: number, member: FilterMember): readonly string[] {
  const fail = (problem: string): never => {
    throw new FilterSyntaxError(problem, start);
  };
  const name = text.slice(start, end);
  const dot = name.indexOf(".");
  const root = dot < 0 ? name : name.slice(0, dot);
  if (member === "contentQuery" && recordRoots.includes(root))
    fail(`has "${root}", which belongs in the headerQuery: it is data of the record, not of the event`);
  if (name === "$key") return [name];
  const rest = dot < 0 ? "" : decodePart(text, start + dot + 1, end);
  if (root === "$header" && rest !== "") return [root, rest];
  if (root === "$ce" && rest !== "") {
    if (/^[a-z0-9]+$/u.test(rest)) return [root, rest];
    fail(`has "${name}"; the names of CloudEvents attributes have lower-case letters and digits only`);
  }
  return fail(
    `has "${name}"; only $key, $header.NAME and $ce.ATTRIBUTE begin with "$"; write "%24" for the character itself`,
  );
}

const recordRoots: readonly string[] = ["$key", "$header", "$ce"];

/** The index of the next `&`, or the text's length. */
function findValuesEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === codes.ampersand) return at;
    if (code === codes.semicolon) throw createSemicolonError(at);
    if (code === codes.equal) {
      throw new FilterSyntaxError(
        'has a second "="; write "%3D" for the character itself, "&" between conditions',
        at,
      );
    }
  }
  return text.length;
}

const parseValues = (text: string, start: number, end: number, read = decodePart): string[] =>
  split(text, { start, end, separator: codes.comma, emptyProblem: emptyValueProblem }, read);
