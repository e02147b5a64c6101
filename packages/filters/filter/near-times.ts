import { toComparable } from "./compare.ts";
import { FilterSyntaxError } from "./filter.ts";

const months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
/** What begins with a date in this or another notation, and ends there or goes on as a time. */
const dateLike = new RegExp(
  [
    String.raw`^\d{4}-\d{1,2}-\d{1,2}(?:$|[\sTZ+_.:]|-\d\d:?\d\d$)`,
    String.raw`^\d{4}/\d{1,2}/\d{1,2}(?:$|[\sT])`,
    String.raw`^\d{1,2}[./]\d{1,2}[./]\d{4}(?:$|[\sT,])`,
    String.raw`^\d{8}T\d`,
    String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+(?:\d|${months})`,
    String.raw`^\d{1,2}[\s-](?:${months})[a-z]*[\s-]\d{4}`,
    String.raw`^(?:${months})[a-z]*\s+\d{1,2},?\s+\d{4}`,
  ].join("|"),
  "iu",
);

/**
 * Throws if the operand of a comparison looks like a time without being one of RFC 3339: it would be compared
 * as a text, with a result that nobody expects. A month and a time of day alone are texts.
 */
export function rejectNearTime(operand: string, position: number): void {
  if (!dateLike.test(operand) || toComparable(operand).instant !== undefined) return;
  throw new FilterSyntaxError(
    `compares with "${operand}", which looks like a time but does not follow RFC 3339; write it like 2026-01-31T10:00:00Z, with an offset like 2026-01-31T10:00:00+02:00 (in a URL: %2B02:00), or a day alone like 2026-01-31`,
    position,
  );
}
