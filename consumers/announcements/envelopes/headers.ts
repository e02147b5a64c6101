import { isUtf8 } from "node:buffer";

import { Refusal, type RefusalCode } from "../../../src/lib/errors.ts";
import type { RecordHeaders } from "../../../src/sync/records.ts";
import { sentenceAt, type Place } from "./place.ts";

/** One thing that is wrong with a header. */
export interface HeaderFault {
  readonly header: string;
  readonly message: string;
}

/** A header as far as it can be read, malformed bytes replaced: enough to see what a record says of itself. */
export const peekHeader = (headers: RecordHeaders, name: string): string | undefined =>
  valueOf(headers, name)?.toString();

/** A header's text; undefined when there is none. Throws a Refusal when it is not UTF-8. */
export function headerText(headers: RecordHeaders, name: string, place: Place): string | undefined {
  const value = valueOf(headers, name);
  if (Buffer.isBuffer(value) && !isUtf8(value))
    throw headerRefusal(place, "UNDECODABLE", [{ header: name, message: "is not UTF-8 text" }]);
  return value?.toString();
}

/** No JSON Pointer leads to a header, so the message names it. */
export function headerRefusal(place: Place, code: RefusalCode, faults: readonly HeaderFault[]): Refusal {
  const messages = faults.map(({ header, message }) => `the header ${header} ${message}`);
  return new Refusal(
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
