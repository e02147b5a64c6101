import {
  FilterSyntaxError,
  isOperator,
  limits,
  type Condition,
  type Filter,
  type FilterMember,
  type Operator,
} from "./filter.ts";

/**
 * Parses a filter (specification 2.4, contract section 5):
 *
 * ```
 * filter    = [ condition *( "&" condition ) ]
 * condition = name ( sign | "." suffix "=" ) value *( "," value )
 * name      = segment *( "." segment )
 * sign      = "=" | "!=" | ">" | ">=" | "<" | "<="
 * ```
 *
 * Space around names and values is ignored; `%XX` is decoded after splitting. In a `contentQuery`, a leading
 * `event.` of a name is ignored. Takes time in proportion to the text's length. Throws FilterSyntaxError
 * only.
 */
export function parseFilter(text: string, member: FilterMember = "headerQuery"): Filter {
  if (text.length > limits.characters) {
    throw new FilterSyntaxError(
      `has ${text.length} characters; at most ${limits.characters} are allowed`,
      limits.characters,
    );
  }
  if (text.trim() === "") return { conditions: [] };
  const conditions: Condition[] = [];
  let values = 0;
  for (let start = 0; start <= text.length;) {
    if (conditions.length === limits.conditions)
      throw new FilterSyntaxError(`has more than ${limits.conditions} conditions`, start);
    const { condition, end } = parseCondition(text, start);
    values += condition.values.length;
    if (values > limits.values) throw new FilterSyntaxError(`has more than ${limits.values} values`, start);
    conditions.push(member === "contentQuery" ? removeEventPrefix(condition) : condition);
    start = end + 1;
  }
  return { conditions };
}

/**
 * Removes a leading `event.`, unless the rest begins with `event.` as well: parsing it again would remove
 * that, too.
 */
function removeEventPrefix(condition: Condition): Condition {
  const { path } = condition;
  if (path[0] !== "event" || path.length === 1) return condition;
  return path[1] === "event" && path.length > 2 ? condition : { ...condition, path: path.slice(1) };
}

function parseCondition(text: string, start: number): { condition: Condition; end: number } {
  const sign = findSign(text, start);
  const { path, suffix } = parseName(text, start, sign.start);
  if (suffix !== undefined && sign.operator !== "eq") {
    throw new FilterSyntaxError(
      `has two operators, ".${suffix}" and "${text.slice(sign.start, sign.end)}"; use one of them`,
      sign.start,
    );
  }
  const operator = suffix ?? sign.operator;
  const end = findValuesEnd(text, sign.end);
  const values = parseValues(text, sign.end, end);
  if (values.length > 1 && operator !== "eq" && operator !== "ne") {
    throw new FilterSyntaxError("compares with several values; a comparison takes one", sign.end);
  }
  return { condition: { path, operator, values }, end };
}

// Texts are scanned by character code, and parts are passed as two indices (the second exclusive): each
// announcement brings two filters, and a million topics are parsed at the start.
const codes = {
  ampersand: 0x26,
  comma: 0x2c,
  dot: 0x2e,
  exclamation: 0x21,
  semicolon: 0x3b,
  less: 0x3c,
  equal: 0x3d,
  greater: 0x3e,
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
        return { operator: "eq", start: at, end: at + 1 };
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
    return new FilterSyntaxError(`has no operator after "${name}"; expected =, !=, >, >=, < or <=`, end);
  }
  return new FilterSyntaxError('has no condition here; expected "name=value"', end);
}

const createSemicolonError = (at: number): FilterSyntaxError =>
  new FilterSyntaxError(
    'has a ";", which is ambiguous: the examples of TMF630 use it for AND and for OR; write "&" for AND, "," for OR, "%3B" for the character itself',
    at,
  );

function parseName(text: string, from: number, to: number): { path: string[]; suffix: Operator | undefined } {
  const start = trimStart(text, from, to);
  const end = trimEnd(text, start, to);
  if (start === end) throw new FilterSyntaxError("has no name before the operator", to);
  if (text[start] === "?") {
    throw new FilterSyntaxError('begins with a "?", which belongs to a URL; leave it out', start);
  }
  const suffix = findSuffix(text, start, end);
  const namesEnd = suffix === undefined ? end : text.lastIndexOf(".", end - 1);
  let names = 1;
  for (let at = start; at < namesEnd; at += 1) if (text.charCodeAt(at) === codes.dot) names += 1;
  if (names > limits.depth) {
    throw new FilterSyntaxError(`has a path of more than ${limits.depth} names`, start);
  }
  const emptyProblem = "has an empty name in a path; expected a name between the dots";
  return { path: split(text, { start, end: namesEnd, separator: codes.dot, emptyProblem }), suffix };
}

/** The operator after the last dot of a name. */
function findSuffix(text: string, start: number, end: number): Operator | undefined {
  const dot = text.lastIndexOf(".", end - 1);
  if (dot < start) return undefined;
  const first = trimStart(text, dot + 1, end);
  if (end - first > maxOperatorLength) return undefined;
  const suffix = text.slice(first, end);
  return isOperator(suffix) ? suffix : undefined;
}

const maxOperatorLength = 3;

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

const parseValues = (text: string, start: number, end: number): string[] =>
  split(text, { start, end, separator: codes.comma, emptyProblem: "has an empty value; expected a value" });

interface ListText {
  readonly start: number;
  readonly end: number;
  readonly separator: number;
  /** What to report of an empty part. */
  readonly emptyProblem: string;
}

/** The parts between separators, trimmed and decoded. */
function split(text: string, { start, end, separator, emptyProblem }: ListText): string[] {
  /** An array literal of one takes a tenth of the memory of one that grows. */
  let parts: string[] | undefined;
  let from = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && text.charCodeAt(at) !== separator) continue;
    const first = trimStart(text, from, at);
    if (first === at) throw new FilterSyntaxError(emptyProblem, at);
    const part = decode(text, first, trimEnd(text, first, at));
    if (parts === undefined) parts = [part];
    else parts.push(part);
    from = at + 1;
  }
  return parts ?? [];
}

/** The index of the first character that is not space; `end` if there is none. */
function trimStart(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** The index after the last character that is not space; `start` if there is none. */
function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/** As `String.prototype.trim` has it. */
const isSpace = (code: number): boolean =>
  code < 0x80 ? code === 0x20 || (code >= 0x09 && code <= 0x0d) : /\s/.test(String.fromCharCode(code));

/** Decodes `%XX` (RFC 3986, section 2.1), which is UTF-8. */
function decode(text: string, start: number, end: number): string {
  const piece = text.slice(start, end);
  if (!piece.includes("%")) return piece;
  const fault = /%(?![0-9a-f]{2})/iu.exec(piece);
  if (fault !== null) {
    throw new FilterSyntaxError(
      'has a "%" without two hexadecimal digits; write "%25" for the character itself',
      start + fault.index,
    );
  }
  return piece.replaceAll(/(?:%[0-9a-f]{2})+/giu, (run: string, at: number) => {
    try {
      return decodeURIComponent(run);
    } catch {
      throw new FilterSyntaxError(`has "${run}", which is not UTF-8`, start + at);
    }
  });
}
