import express, { type ErrorRequestHandler, type Request, type RequestHandler } from "express";

import { messageOf, Refusal } from "../src/errors.ts";
import type { Checked } from "../src/validation.ts";
import { HttpError } from "./errors.ts";

const mostBodyBytes = 100 * 1024;
const mediaType = "application/json";

/** How an operation answers a body that is not JSON: the push operations say 400 (specification 4.1), the others 415. */
export interface BodyRules {
  readonly wrongTypeStatus: 400 | 415;
}

/** Refuses a request whose answer could not be JSON (specification 4.3: only application/json is supported). */
export const acceptsJson: RequestHandler = (request, _response, next) => {
  if (request.accepts(mediaType) === false) {
    throw new HttpError("NOT_ACCEPTABLE", "The answer would be JSON, which the Accept header rules out.", {
      detail: `Send "Accept: ${mediaType}".`,
    });
  }
  next();
};

/** Reads a JSON body of at most 100 kB into `request.body`. */
export function jsonBody({
  wrongTypeStatus: status,
}: BodyRules): [RequestHandler, RequestHandler, ErrorRequestHandler] {
  const checkType: RequestHandler = (request, _response, next) => {
    const given = request.headers["content-type"];
    if (!isJson(given)) throw wrongType(given, status);
    next();
  };
  const parse = express.json({ limit: mostBodyBytes, type: () => true, strict: false });
  const explain: ErrorRequestHandler = (error, _request, _response, next) => {
    next(bodyError(error, status));
  };
  return [checkType, parse, explain];
}

/** The body, checked. Throws a Refusal with every fault. */
export function checkedBody<T>(request: Request, check: (value: unknown) => Checked<T>): T {
  // Express leaves the body undefined when the request has none.
  const checked = check(request.body ?? null);
  if (checked.ok) return checked.value;
  throw new Refusal("SCHEMA_VIOLATION", "The body is not what this operation takes.", checked.faults);
}

/** JSON is UTF-8 (RFC 8259, section 8.1): another charset is another format. */
function isJson(contentType = ""): boolean {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  return type === mediaType && (charset === undefined || /^"?utf-?8"?$/.test(charset));
}

const wrongType = (given: string | undefined, status: number): HttpError =>
  new HttpError(
    "UNSUPPORTED_MEDIA_TYPE",
    given === undefined
      ? "The request has no Content-Type."
      : `The Content-Type "${given}" is not supported.`,
    { detail: `Send JSON in UTF-8 with "Content-Type: ${mediaType}".`, status },
  );

/** What body-parser throws, by its `type`, in our words. */
function bodyError(error: unknown, wrongTypeStatus: number): unknown {
  if (!(error instanceof Error) || !("type" in error)) return error;
  switch (error.type) {
    case "entity.too.large":
      return new HttpError("BODY_TOO_LARGE", `The body has more than ${mostBodyBytes} bytes.`);
    case "entity.parse.failed":
      return new HttpError("MALFORMED_JSON", `The body is not JSON: ${messageOf(error)}`);
    case "charset.unsupported":
    case "encoding.unsupported":
      return new HttpError(
        "UNSUPPORTED_MEDIA_TYPE",
        `The body's encoding is not supported: ${messageOf(error)}`,
        {
          detail: "Send UTF-8, plain or compressed with gzip, deflate or br.",
          status: wrongTypeStatus,
        },
      );
    default:
      // Cut off, of another length than announced, or not decompressible.
      return new HttpError("BAD_REQUEST", `The body could not be read: ${messageOf(error)}`);
  }
}
