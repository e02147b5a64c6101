import {
  FilterSyntaxError,
  isOperator,
  limits,
  type Condition,
  type Filter,
  type FilterMember,
  type Operator,
} from "./filter.ts";

/** A part of the text; `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

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
    conditions.push(
      member === "contentQuery" ? { ...condition, path: removeEventPrefix(condition.path) } : condition,
    );
    start = end + 1;
  }
  return { conditions };
}

/**
 * Removes a leading `event.`, unless the rest begins with `event.` as well: parsing it again would remove
 * that, too.
 */
function removeEventPrefix(path: readonly string[]): readonly string[] {
  const [first, ...rest] = path;
  if (first !== "event" || rest.length === 0) return path;
  return rest[0] === "event" && rest.length > 1 ? path : rest;
}

function parseCondition(text: string, start: number): { condition: Condition; end: number } {
  const sign = findSign(text, start);
  const { path, suffix } = parseName(text, { start, end: sign.start });
  if (suffix !== undefined && sign.operator !== "eq") {
    throw new FilterSyntaxError(
      `has two operators, ".${suffix}" and "${text.slice(sign.start, sign.end)}"; use one of them`,
      sign.start,
    );
  }
  const operator = suffix ?? sign.operator;
  const { values, end } = parseValues(text, sign.end);
  if (values.length > 1 && operator !== "eq" && operator !== "ne") {
    throw new FilterSyntaxError("compares with several values; a comparison takes one", sign.end);
  }
  return { condition: { path, operator, values }, end };
}

function findSign(text: string, start: number): Span & { readonly operator: Operator } {
  for (let at = start; at < text.length; at += 1) {
    const isEqual = text[at + 1] === "=";
    switch (text.charAt(at)) {
      case "=":
        return { operator: "eq", start: at, end: at + 1 };
      case ">":
        return { operator: isEqual ? "gte" : "gt", start: at, end: at + (isEqual ? 2 : 1) };
      case "<":
        return { operator: isEqual ? "lte" : "lt", start: at, end: at + (isEqual ? 2 : 1) };
      case "!":
        if (isEqual) return { operator: "ne", start: at, end: at + 2 };
        break;
      case ";":
        throw createSemicolonError(at);
      case "&":
        throw createMissingSignError(text, { start, end: at });
    }
  }
  throw createMissingSignError(text, { start, end: text.length });
}

function createMissingSignError(text: string, { start, end }: Span): FilterSyntaxError {
  const name = text.slice(start, end).trim();
  if (name !== "") {
    return new FilterSyntaxError(`has no operator after "${name}"; expected =, !=, >, >=, < or <=`, end);
  }
  return new FilterSyntaxError(
    'has no condition here; expected "name=value"',
    trim(text, { start, end }).start,
  );
}

const createSemicolonError = (at: number): FilterSyntaxError =>
  new FilterSyntaxError(
    'has a ";", which is ambiguous: the examples of TMF630 use it for AND and for OR; write "&" for AND, "," for OR, "%3B" for the character itself',
    at,
  );

function parseName(text: string, span: Span): { path: string[]; suffix: Operator | undefined } {
  const { start, end } = trim(text, span);
  if (start === end) throw new FilterSyntaxError("has no name before the operator", span.end);
  if (text[start] === "?") {
    throw new FilterSyntaxError('begins with a "?", which belongs to a URL; leave it out', start);
  }
  const segments = split(text, { start, end }, ".");
  const last = segments.at(-1);
  const lastText = last === undefined ? "" : text.slice(last.start, last.end);
  const suffix = segments.length > 1 && isOperator(lastText) ? lastText : undefined;
  const names = suffix === undefined ? segments : segments.slice(0, -1);
  if (names.length > limits.depth) {
    throw new FilterSyntaxError(`has a path of more than ${limits.depth} names`, start);
  }
  const path = names.map((segment) => {
    if (segment.start === segment.end) {
      throw new FilterSyntaxError(
        "has an empty name in a path; expected a name between the dots",
        segment.start,
      );
    }
    return decode(text, segment);
  });
  return { path, suffix };
}

function parseValues(text: string, start: number): { values: string[]; end: number } {
  let end = start;
  for (; end < text.length && text[end] !== "&"; end += 1) {
    if (text[end] === ";") throw createSemicolonError(end);
    if (text[end] === "=") {
      throw new FilterSyntaxError(
        'has a second "="; write "%3D" for the character itself, "&" between conditions',
        end,
      );
    }
  }
  const values = split(text, { start, end }, ",").map((value) => {
    if (value.start === value.end)
      throw new FilterSyntaxError("has an empty value; expected a value", value.start);
    return decode(text, value);
  });
  return { values, end };
}

/** Returns the parts between separators, trimmed. */
function split(text: string, { start, end }: Span, separator: string): Span[] {
  const pieces: Span[] = [];
  let first = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && text[at] !== separator) continue;
    pieces.push(trim(text, { start: first, end: at }));
    first = at + 1;
  }
  return pieces;
}

function trim(text: string, { start, end }: Span): Span {
  const piece = text.slice(start, end);
  const left = piece.length - piece.trimStart().length;
  return left === piece.length
    ? { start: end, end }
    : { start: start + left, end: start + piece.trimEnd().length };
}

/** Decodes `%XX` (RFC 3986, section 2.1), which is UTF-8. */
function decode(text: string, { start, end }: Span): string {
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
