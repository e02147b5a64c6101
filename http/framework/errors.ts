import type { RequestHandler } from "express";

import type { ErrorBody } from "../../schemas/error.ts";
import type { Fault, RefusalCode } from "../../src/lib/errors.ts";

/** Codes of errors that arise in HTTP itself. */
export type HttpCode =
  | "BAD_REQUEST"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "NAME_TAKEN"
  | "METHOD_NOT_ALLOWED"
  | "NOT_ACCEPTABLE"
  | "REQUEST_TIMEOUT"
  | "BODY_TOO_LARGE"
  | "URI_TOO_LONG"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "EXPECTATION_FAILED"
  | "TOO_MANY_ATTEMPTS"
  | "HEADERS_TOO_LARGE"
  | "INTERNAL"
  | "OVERLOADED"
  | "UNAVAILABLE";

/** Every code that an error body can carry. */
export type ErrorCode = HttpCode | RefusalCode;

/** The only table from codes to statuses (contract, section 3). */
export const statuses: Readonly<Record<ErrorCode, number>> = {
  BAD_REQUEST: 400,
  MALFORMED_JSON: 400,
  SCHEMA_VIOLATION: 400,
  BAD_FILTER: 400,
  TOO_LARGE: 400,
  UNDECODABLE: 400,
  MISSING_KEY: 400,
  KEY_MISMATCH: 400,
  EXTERNAL_ID_TAKEN: 400,
  DUPLICATE_EXTERNAL_ID: 400,
  DUPLICATE_COMBINATION: 400,
  UNKNOWN_APPLICATION: 400,
  UNKNOWN_PLATFORM: 400,
  BAD_TOKEN: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  NAME_TAKEN: 409,
  BODY_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  TOO_MANY_ATTEMPTS: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
};

/** An error that arises in HTTP itself, with the headers that belong to it. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpCode | "MALFORMED_JSON";
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The status where it is not the code's own: the push operations know no 415 (specification 4.1). */
  readonly status: number | undefined;

  constructor(
    code: HttpError["code"],
    message: string,
    more: {
      readonly detail?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly status?: number;
      /** Only the log has it. */
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.detail = more.detail ?? "";
    this.headers = more.headers ?? {};
    this.status = more.status;
  }
}

/** Answers whatever no route took. */
export const notFound: RequestHandler = (request) => {
  throw new HttpError("NOT_FOUND", `There is nothing at ${request.path}.`, {
    detail: "Known API versions are v1 and v2; without a version the latest is used.",
  });
};

/** Answers a known path that was asked with another method. */
export const methodNotAllowed =
  (allowed: string): RequestHandler =>
  (request) => {
    throw new HttpError("METHOD_NOT_ALLOWED", `${request.method} is not possible here.`, {
      detail: `Use ${allowed}.`,
      headers: { Allow: allowed },
    });
  };

/** What is told of an error. */
export interface ErrorDescription {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail: string;
  readonly details: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  /** Where it is not the code's own. */
  readonly status?: number | undefined;
}

/** The status that goes with an error. */
export const getStatus = ({ code, status }: Pick<ErrorDescription, "code" | "status">): number =>
  status ?? statuses[code];

/** The one error body. */
export const toErrorBody = (
  described: Pick<ErrorDescription, "code" | "message" | "detail"> & Partial<ErrorDescription>,
): ErrorBody => {
  const { message, detail, code, details = [] } = described;
  return { error: { message, detail, code, details: [...details] }, status: "failure" };
};
