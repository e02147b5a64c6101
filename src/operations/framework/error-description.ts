import {
  formatFaults,
  KafkaUnavailableError,
  NotLoadedError,
  OverloadedError,
  RejectionError,
  TooManyAttemptsError,
  UnavailableError,
  type Fault,
} from "@topicsync/lib/errors";
import type { ErrorBody } from "../../../schemas/error.ts";
import { HttpError, type ErrorCode } from "./errors.ts";

export interface ErrorDescription {
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

/** Describes an error to the caller, who may be anybody: nothing about the inside of the service. */
export function describeError(
  error: unknown,
  {
    requestId,
    operation = "The request",
    isRead = false,
  }: { readonly requestId: string; readonly operation?: string; readonly isRead?: boolean },
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
