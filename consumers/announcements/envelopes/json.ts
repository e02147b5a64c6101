import { isUtf8 } from "node:buffer";

import { messageOf, type Refusal, type RefusalCode } from "../../../src/lib/errors.ts";
import { refusalAt, type Place } from "./place.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The JSON value that bytes hold. Throws a Refusal. */
export function jsonIn(bytes: Buffer, place: Place): unknown {
  if (!isUtf8(bytes)) throw unreadable(place, "UNDECODABLE", "is not UTF-8 text");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw unreadable(place, "MALFORMED_JSON", `is not JSON: ${messageOf(error)}`);
  }
}

/** A fault of the whole value needs no path. */
const unreadable = (place: Place, code: RefusalCode, message: string): Refusal =>
  place.pointer === ""
    ? refusalAt(place, code, `${message}.`)
    : refusalAt(place, code, "cannot be read.", [{ path: "", message }]);
