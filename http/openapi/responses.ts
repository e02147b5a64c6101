import { errorBodySchema } from "../../schemas/error.ts";
import { meanings, statuses, type ErrorCode } from "../../src/operations/framework/errors.ts";
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
