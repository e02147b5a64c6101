import { isUtf8 } from "node:buffer";

import { RefusalError, type RefusalCode } from "../../../src/lib/errors.ts";
import type { RecordHeaders } from "../../../src/sync/records.ts";
import { sentenceAt, type JsonLocation } from "./place.ts";

/** One thing that is wrong with a header. */
export interface HeaderFault {
  readonly header: string;
  readonly message: string;
}

/** A header as far as it can be read, malformed bytes replaced: enough to see what a record says of itself. */
export const peekHeader = (headers: RecordHeaders, name: string): string | undefined =>
  valueOf(headers, name)?.toString();

/** A header's text; undefined when there is none. Throws a RefusalError when it is not UTF-8. */
export function headerText(headers: RecordHeaders, name: string, place: JsonLocation): string | undefined {
  const value = valueOf(headers, name);
  if (Buffer.isBuffer(value) && !isUtf8(value))
    throw headerRefusal(place, "UNDECODABLE", [{ header: name, message: "is not UTF-8 text" }]);
  return value?.toString();
}

/** No JSON Pointer leads to a header, so the message names it. */
export function headerRefusal(
  place: JsonLocation,
  code: RefusalCode,
  faults: readonly HeaderFault[],
): RefusalError {
  const messages = faults.map(({ header, message }) => `the header ${header} ${message}`);
  return new RefusalError(
    code,
    sentenceAt(place, `cannot be used: ${messages.join("; ")}.`),
    messages.map((message) => ({ path: "", message })),
  );
}

/** The last value where a name stands more than once. */
function valueOf(headers: RecordHeaders, name: string): Buffer | string | undefined {
  const value = headers[name];
  const last = Array.isArray(value) ? value.at(-1) : value;
  // A header without a value arrives as null, whatever its type says.
  return last ?? undefined;
}
