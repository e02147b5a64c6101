import { statuses, type ErrorCode } from "./errors.ts";
import type { Operation } from "./operation.ts";

/** What each code means, for people. */
export const meanings: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: "the request is malformed, or its body could not be read",
  MALFORMED_JSON: "the body is not valid JSON in UTF-8, contains a duplicate member, or is nested too deeply",
  SCHEMA_VIOLATION: "the body or query violates the schema; `details` lists every problem",
  BAD_FILTER: "a filter is invalid; `details` gives the position",
  TOO_LARGE: "the announcement is too large",
  UNDECODABLE: "the announcement cannot be decoded",
  MISSING_KEY: "the announcement has no key",
  KEY_MISMATCH: "the announcement's key differs from its external id",
  EXTERNAL_ID_TAKEN: "the external id belongs to a topic from another source",
  DUPLICATE_EXTERNAL_ID: "another topic has the external id",
  DUPLICATE_COMBINATION: "another topic has the same name, namespace and filters",
  UNKNOWN_APPLICATION: "no active push application has that name",
  UNKNOWN_PLATFORM: "no active push platform has that name",
  BAD_TOKEN: "the token is not valid for this platform",
  UNAUTHENTICATED: "credentials are missing or wrong, or the user is disabled",
  FORBIDDEN: "the user does not have the required role",
  NOT_FOUND: "the resource does not exist",
  NAME_TAKEN: "the name is already in use",
  METHOD_NOT_ALLOWED: "the path does not support the method; `Allow` lists those it supports",
  NOT_ACCEPTABLE: "the `Accept` header excludes the media type of the response",
  BODY_TOO_LARGE: "the body exceeds 100 KiB",
  UNSUPPORTED_MEDIA_TYPE:
    "the body is not `application/json` in UTF-8, uncompressed or compressed with gzip, deflate or br",
  TOO_MANY_ATTEMPTS: "too many failed logins for this user or from this address",
  REQUEST_TIMEOUT: "the request was not received in time",
  URI_TOO_LONG: "the URL is too long",
  EXPECTATION_FAILED: "the `Expect` header is not `100-continue`",
  HEADERS_TOO_LARGE: "the request has too many headers, or they are too large",
  INTERNAL: "unexpected failure; the service's log has the cause under the request id",
  OVERLOADED: "the service is overloaded; nothing was stored",
  UNAVAILABLE:
    "the database or Kafka is unavailable, so the request may or may not have been stored; or data is still being loaded",
};

/** What can be wrong with any request. */
export const ofEveryRequest = [
  "BAD_REQUEST",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "URI_TOO_LONG",
  "EXPECTATION_FAILED",
  "HEADERS_TOO_LARGE",
  "INTERNAL",
] as const;

/** Every error that an operation can answer with, by status: the one place where that is derived. */
export function listFailures(operation: Operation): ReadonlyMap<number, readonly ErrorCode[]> {
  const failures = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) => {
    failures.set(status, [...(failures.get(status) ?? []), code]);
  };
  const { access, body, replies, refusals = [] } = operation;

  const codes: ErrorCode[] = [...ofEveryRequest, ...refusals];
  if (access !== "anybody") codes.push("UNAUTHENTICATED", "TOO_MANY_ATTEMPTS", "OVERLOADED", "UNAVAILABLE");
  if (access !== "anybody" && access !== "user") codes.push("FORBIDDEN");
  if (answersJson(replies)) codes.push("NOT_ACCEPTABLE");
  if (body !== undefined) codes.push("MALFORMED_JSON", "SCHEMA_VIOLATION", "BODY_TOO_LARGE");
  for (const code of codes) add(statuses[code], code);
  if (body !== undefined) add(body.wrongTypeStatus, "UNSUPPORTED_MEDIA_TYPE");
  return new Map([...failures].toSorted(([one], [other]) => one - other));
}

/** Whether an operation has an answer with a JSON body, which the caller may rule out. */
export const answersJson = (replies: Operation["replies"]): boolean =>
  Object.values(replies).some(({ schema }) => schema !== undefined);
