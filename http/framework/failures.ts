import { statuses, type ErrorCode } from "./errors.ts";
import type { Operation } from "./operation.ts";

/** What each code means, for people. */
export const meanings: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: "the request is not well-formed, or its body could not be read",
  MALFORMED_JSON: "the body is not JSON in UTF-8, names a member twice or is nested too deep",
  SCHEMA_VIOLATION: "the body is not what the operation takes; `details` lists every fault",
  BAD_FILTER: "a filter cannot be read; `details` says where",
  TOO_LARGE: "the announcement is too large",
  UNDECODABLE: "the announcement cannot be read",
  MISSING_KEY: "the announcement needs a key",
  KEY_MISMATCH: "the announcement's key is not its external id",
  EXTERNAL_ID_TAKEN: "the external id belongs to a topic from elsewhere",
  DUPLICATE_EXTERNAL_ID: "another topic has the external id",
  DUPLICATE_COMBINATION: "another topic has the same name, namespace and filters",
  UNKNOWN_APPLICATION: "there is no active push application of that name",
  UNKNOWN_PLATFORM: "there is no active push platform of that name",
  BAD_TOKEN: "the token is none of the platform's",
  UNAUTHENTICATED: "credentials are missing or wrong, or the user is not active",
  FORBIDDEN: "the user has not got the role that the operation needs",
  NOT_FOUND: "there is nothing of that name",
  NAME_TAKEN: "there is one of that name already",
  METHOD_NOT_ALLOWED: "the path has other methods, which `Allow` lists",
  NOT_ACCEPTABLE: "the `Accept` header rules out the media type of the answer",
  BODY_TOO_LARGE: "the body has more than 100 kB",
  UNSUPPORTED_MEDIA_TYPE:
    "the body is not sent as `application/json` in UTF-8, plain or compressed with gzip, deflate or br",
  TOO_MANY_ATTEMPTS: "too many logins failed lately, for this user or from this address",
  REQUEST_TIMEOUT: "the request did not come to its end in time",
  URI_TOO_LONG: "the URL is longer than any that means something",
  EXPECTATION_FAILED: "the `Expect` header asks for something else than 100-continue",
  HEADERS_TOO_LARGE: "the request has too many headers, or too large ones",
  INTERNAL: "the request failed for a reason that was not foreseen; the log has it under the request id",
  OVERLOADED: "more requests wait than may wait; nothing was stored",
  UNAVAILABLE:
    "the database or Kafka does not answer, so nothing is known to be stored; or what is asked for is still being loaded",
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
