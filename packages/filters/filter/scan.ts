import { FilterSyntaxError } from "./filter.ts";

// Texts are scanned by character code, and parts are passed as two indices (the second exclusive): each
// announcement brings two filters, and a million topics are parsed at the start.

export interface ListText {
  readonly start: number;
  readonly end: number;
  readonly separator: number;
  /** What to report of an empty part. */
  readonly emptyProblem: string;
}

/** The parts between separators, trimmed and decoded. */
export function split(
  text: string,
  { start, end, separator, emptyProblem }: ListText,
  read = decodePart,
): string[] {
  /** An array literal of one takes a tenth of the memory of one that grows. */
  let parts: string[] | undefined;
  let from = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && text.charCodeAt(at) !== separator) continue;
    const first = trimStart(text, from, at);
    if (first === at) throw new FilterSyntaxError(emptyProblem, at);
    const part = read(text, first, trimEnd(text, first, at));
    if (parts === undefined) parts = [part];
    else parts.push(part);
    from = at + 1;
  }
  return parts ?? [];
}

/** The index of the first character that is not space; `end` if there is none. */
export function trimStart(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** The index after the last character that is not space; `start` if there is none. */
export function trimEnd(text: string, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/** As `String.prototype.trim` has it. */
const isSpace = (code: number): boolean =>
  code < 0x80 ? code === 0x20 || (code >= 0x09 && code <= 0x0d) : /\s/.test(String.fromCharCode(code));

/** Decodes `%XX` (RFC 3986, section 2.1), which is UTF-8. */
export function decodePart(text: string, start: number, end: number): string {
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
