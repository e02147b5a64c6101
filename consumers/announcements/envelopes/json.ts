import { isUtf8 } from "node:buffer";

import { getErrorMessage, type RefusalError, type RefusalCode } from "../../../src/lib/errors.ts";
import { createRefusal, type JsonLocation } from "./place.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The JSON value that bytes hold. Throws a RefusalError. */
export function jsonIn(bytes: Buffer, place: JsonLocation): unknown {
  if (!isUtf8(bytes)) throw unreadable(place, "UNDECODABLE", "is not UTF-8 text");
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw unreadable(place, "MALFORMED_JSON", `is not JSON: ${getErrorMessage(error)}`);
  }
}

/** A fault of the whole value needs no path. */
const unreadable = (place: JsonLocation, code: RefusalCode, message: string): RefusalError =>
  place.pointer === ""
    ? createRefusal(place, code, `${message}.`)
    : createRefusal(place, code, "cannot be read.", [{ path: "", message }]);
