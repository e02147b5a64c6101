import type { ErrorBody } from "../../schemas/error.ts";
import {
  getErrorMessage,
  KafkaUnavailableError,
  NotLoadedError,
  OverloadedError,
  RejectionError,
  TooManyAttemptsError,
  formatFaults,
  UnavailableError,
  type Fault,
} from "../../src/lib/errors.ts";
import type { RecordRefusal, Refusal } from "../../src/lib/audit-refusals.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { toOrigin, type ErrorHandler, type Handler, type RequestContext } from "./context.ts";
import { HttpError, statuses, type ErrorCode } from "./errors.ts";

/** Rejects a request that no route matched. */
export const rejectUnknownPath: Handler = (request) => {
  throw new HttpError("NOT_FOUND", `Nothing found at ${request.path}.`, {
    detail: "Known API versions are v1 and v2; without a version the latest is used.",
  });
};

/** Rejects a request to a known path with another method. */
export const rejectMethod =
  (allowed: string): Handler =>
  (request) => {
    throw new HttpError("METHOD_NOT_ALLOWED", `${request.method} is not supported here.`, {
      detail: `Use ${allowed}.`,
      headers: { Allow: allowed },
    });
  };

/** Creates the error middleware: the only place that sends error responses. */
export function createErrorHandler(log: Logger, recordRefusal: RecordRefusal): ErrorHandler {
  // oxlint-disable-next-line no-unused-vars -- Express recognizes error middleware by its four parameters
  return (error: unknown, request, response, _next) => {
    const { locals } = response;
    if (response.headersSent) {
      // Not left to Express, which prints the error as it is, with the tokens in it.
      log.error({ requestId: locals.requestId, operation: locals.operation, err: error }, "response failed");
      request.socket.destroy();
      return;
    }
    const described = describeError(error, { ...locals, isRead: request.method === "GET" });
    const { code, headers = {}, status = statuses[code] } = described;
    locals.errorCode = code;
    const refusal = findRefusal(described, locals);
    if (refusal !== undefined) recordRefusal(refusal, toOrigin(locals));
    if (code === "INTERNAL")
      log.error(
        { requestId: locals.requestId, operation: locals.operation, err: error },
        "request failed unexpectedly",
      );
    if (code === "UNAVAILABLE" || code === "OVERLOADED")
      log.warn(
        { requestId: locals.requestId, reason: toReason(error) },
        "request rejected, service unavailable",
      );
    response.status(status).set(headers).json(toErrorBody(described));
  };
}

const maxAuditedCharacters = 200;

/**
 * What the audit log says about a rejected request; undefined for requests without credentials and others.
 */
function findRefusal(
  { code, message, detail = "" }: ErrorDescription,
  { operation = "", credentials, claimedUser = "" }: RequestContext,
): Refusal | undefined {
  if (code === "FORBIDDEN") {
    const reason = (detail === "" ? message : detail).slice(0, maxAuditedCharacters);
    return { action: "request.refused", operation, reason };
  }
  const isLogin = code === "UNAUTHENTICATED" || code === "TOO_MANY_ATTEMPTS";
  if (!isLogin || credentials === undefined) return undefined;
  return { action: "login.failed", user: claimedUser.slice(0, maxAuditedCharacters), credentials };
}

const toReason = (error: unknown): string =>
  getErrorMessage(error instanceof HttpError ? (error.cause ?? error) : error);

interface ErrorDescription {
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail?: string;
  readonly details?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Overrides the code's status. */
  readonly status?: number | undefined;
}

/** The body of every error response. */
export const toErrorBody = ({ message, detail = "", code, details = [] }: ErrorDescription): ErrorBody => ({
  error: { message, detail, code, details: [...details] },
  status: "failure",
});

const retryAfterSeconds = "5";

export function describeError(
  error: unknown,
  {
    requestId,
    operation = "The request",
    isRead = false,
  }: Pick<RequestContext, "requestId" | "operation"> & { readonly isRead?: boolean },
): ErrorDescription {
  if (error instanceof HttpError) return error;
  if (error instanceof RejectionError) {
    const { code, message, details } = error;
    return { code, message, detail: formatFaults(details, "The body"), details };
  }
  if (error instanceof NotLoadedError) {
    return {
      code: "UNAVAILABLE",
      message: `Not ready: ${error.message}.`,
      detail: `Try again in ${retryAfterSeconds} seconds.`,
      headers: { "Retry-After": retryAfterSeconds },
    };
  }
  if (error instanceof UnavailableError) {
    const outcome = isRead ? "" : "The request may or may not have been stored. ";
    return {
      code: "UNAVAILABLE",
      message: `${error instanceof KafkaUnavailableError ? "Kafka" : "The database"} is unavailable.`,
      detail: `${outcome}Try again in ${retryAfterSeconds} seconds. Request id: ${requestId}.`,
      headers: { "Retry-After": retryAfterSeconds },
    };
  }
  if (error instanceof OverloadedError) {
    return {
      code: "OVERLOADED",
      message: "The service is overloaded.",
      detail: "Nothing was stored. Try again in a second.",
      headers: { "Retry-After": "1" },
    };
  }
  if (error instanceof TooManyAttemptsError) {
    const seconds = String(error.retryAfterSeconds);
    return {
      code: "TOO_MANY_ATTEMPTS",
      message: "Too many failed logins. The credentials were not checked.",
      detail: `Try again in ${seconds} seconds.`,
      headers: { "Retry-After": seconds },
    };
  }
  // Thrown by the router for a path parameter that cannot be decoded.
  if (error instanceof URIError)
    return { code: "BAD_REQUEST", message: "The path has a malformed percent-encoding." };
  return {
    code: "INTERNAL",
    message: `${operation} failed unexpectedly.`,
    detail: `See the service's log for the request id ${requestId}.`,
  };
}
