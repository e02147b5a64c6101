import { getErrorMessage } from "@topicsync/lib/errors";
import type { RecordRefusal, Refusal } from "@topicsync/lib/audit/refusals";
import type { Logger } from "@topicsync/lib/logger";
import { toOrigin, type ErrorHandler, type Handler, type RequestContext } from "./context.ts";
import {
  describeError,
  toErrorBody,
  type ErrorDescription,
} from "../../src/operations/framework/error-description.ts";
import { HttpError, statuses } from "../../src/operations/framework/errors.ts";

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
