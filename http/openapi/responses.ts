import { errorBodySchema } from "../../schemas/error.ts";
import { statuses, type ErrorCode } from "../../src/operations/framework/errors.ts";
import type { Components } from "./components.ts";
import {
  jsonType,
  returnsJson,
  type Operation,
  type ReplyDescription,
} from "../../src/operations/framework/operation.ts";

/** Every response of an operation, by status. */
export function buildResponses(operation: Operation, components: Components): Record<string, object> {
  const responses: Record<string, object> = {};
  for (const [status, codes] of listErrors(operation)) {
    const name = toResponseName(operation, status, codes);
    responses[status] = components.response(name, describeErrors(status, codes, components));
  }
  for (const [status, reply] of Object.entries(operation.replies))
    responses[status] = describeReply(Number(status), reply, components);
  return responses;
}

function describeReply(
  status: number,
  { description, schema, mediaType, hasEtag, hasWarnings }: ReplyDescription,
  components: Components,
): object {
  // A reply of the operation itself, such as 503 of the readiness probe, has no error headers.
  const names = [
    ...getHeaderNames(status < 400 ? status : 200),
    ...(hasEtag ? ["ETag"] : []),
    ...(hasWarnings ? ["Topicsync-Warning"] : []),
  ];
  const headers = Object.fromEntries(names.map((name) => [name, components.header(name)]));
  const json = schema && { [jsonType]: { schema: components.schema(schema) } };
  const other = mediaType !== undefined && { [mediaType]: { schema: { type: "string" } } };
  if (!json && !other) return { description: `${description} The response has no body.`, headers };
  return { description, headers, content: { ...json, ...other } };
}

function describeErrors(status: number, codes: readonly ErrorCode[], components: Components): object {
  const code = { enum: codes };
  return {
    description: codes.map((one) => `- \`${one}\`: ${meanings[one]}`).join("\n"),
    headers: Object.fromEntries(getHeaderNames(status).map((name) => [name, components.header(name)])),
    content: {
      "application/json": {
        schema: {
          allOf: [components.schema(errorBodySchema), { properties: { error: { properties: { code } } } }],
        },
      },
    },
  };
}

/** Responses with one or two codes are shared by all operations that have them. */
function toResponseName({ id }: Operation, status: number, codes: readonly ErrorCode[]): string {
  const isShared = codes.length <= 2 && codes.every((code) => statuses[code] === status);
  return isShared ? codes.map(toPascalCase).join("Or") : `${id}-${status}`;
}

const toPascalCase = (code: ErrorCode): string =>
  code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

function getHeaderNames(status: number): readonly string[] {
  const own: Readonly<Record<number, readonly string[]>> = {
    302: ["Location"],
    401: ["WWW-Authenticate"],
    405: ["Allow"],
    429: ["Retry-After"],
    503: ["Retry-After"],
  };
  return ["X-Request-Id", ...(own[status] ?? [])];
}

/** What each code means. */
const meanings: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: "the request is malformed, or its body could not be read",
  MALFORMED_JSON: "the body is not valid JSON in UTF-8, contains a duplicate member, or is nested too deeply",
  SCHEMA_VIOLATION: "the body or query violates the schema; `details` lists every problem",
  BAD_FILTER: "a filter is invalid; `details` gives the position",
  TOO_LARGE: "the record is too large",
  UNDECODABLE: "the record cannot be decoded",
  MISSING_KEY: "the announcement has no key",
  KEY_MISMATCH: "the announcement's key differs from its external id",
  EXTERNAL_ID_TAKEN: "the external id belongs to a topic from another source",
  DUPLICATE_EXTERNAL_ID: "another topic has the external id",
  DUPLICATE_COMBINATION: "another topic has the same name, namespace and filters",
  UNKNOWN_APPLICATION: "no active push application has that name",
  UNKNOWN_PLATFORM: "no active push platform has that name",
  BAD_TOKEN: "the token is not valid for this platform",
  BAD_EGRESS_NAME: "no Kafka topic can have the name of the topic's egress topic",
  NO_EGRESS_TOPIC: "the topic's egress topic does not exist",
  EGRESS_REJECTED: "the topic's egress topic does not accept the event",
  TOO_MANY_TOPICS: "the event belongs to more topics than one event is forwarded to",
  UNEXPECTED_ERROR: "the event cannot be forwarded for a reason that is not foreseen; the message has it",
  UNAUTHENTICATED: "credentials are missing or wrong, the user is disabled, or the key has expired",
  FORBIDDEN:
    "the caller lacks the required right, which `detail` names, or the request comes from a page of another site",
  NOT_FOUND: "the resource does not exist",
  NAME_TAKEN: "the name is already in use",
  MANAGED_BY_SET: "the topic belongs to a set, which is changed by its files",
  SET_ORIGIN_MISMATCH: "the set is applied from another repository",
  METHOD_NOT_ALLOWED: "the path does not support the method; `Allow` lists those it supports",
  NOT_ACCEPTABLE: "the `Accept` header excludes the media type of the response",
  VERSION_CONFLICT:
    "the version or definition is not the one that the caller has read, or `If-Match` is an entity tag that no version has",
  VERSION_REQUIRED: "the `If-Match` header with the version that is to be changed is missing",
  BODY_TOO_LARGE: "the body exceeds 100 KiB, 1 MiB for `changeTopics`, or 4 KiB for `signIn`",
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
    "the database or Kafka is unavailable, so a write may or may not have been stored; or data is still being loaded",
};

/** Errors of every operation. */
const commonErrors = [
  "BAD_REQUEST",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TIMEOUT",
  "URI_TOO_LONG",
  "EXPECTATION_FAILED",
  "HEADERS_TOO_LARGE",
  "INTERNAL",
] as const;

/** Every error that an operation can return, by status. */
function listErrors(operation: Operation): ReadonlyMap<number, readonly ErrorCode[]> {
  const errors = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) => {
    errors.set(status, [...(errors.get(status) ?? []), code]);
  };
  const { access, body, method, optionalLogin, replies, rejections = [] } = operation;

  const codes: ErrorCode[] = [...commonErrors, ...rejections];
  if (access !== "anybody") codes.push("UNAUTHENTICATED", "TOO_MANY_ATTEMPTS", "OVERLOADED", "UNAVAILABLE");
  else if (optionalLogin) codes.push("UNAUTHENTICATED", "TOO_MANY_ATTEMPTS");
  const needsRight = access !== "anybody" && access !== "user";
  if (needsRight || method !== "GET") codes.push("FORBIDDEN");
  if (returnsJson(replies)) codes.push("NOT_ACCEPTABLE");
  if (operation.ifMatch !== undefined) codes.push("VERSION_CONFLICT");
  if (operation.ifMatch === "required") codes.push("VERSION_REQUIRED");
  if (body !== undefined) codes.push("MALFORMED_JSON", "BODY_TOO_LARGE");
  if (body !== undefined || operation.query !== undefined) codes.push("SCHEMA_VIOLATION");
  for (const code of codes) add(statuses[code], code);
  if (body !== undefined) add(body.wrongTypeStatus, "UNSUPPORTED_MEDIA_TYPE");
  return new Map([...errors].toSorted(([one], [other]) => one - other));
}
