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
import { ChangesRejectedError } from "../../topics/changing.ts";
import { UnknownTopicError, VersionConflictError } from "../../topics/definition-change.ts";
import { DetailsConflictError } from "../../topics/details/store.ts";
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

interface ErrorContext {
  readonly requestId: string;
  readonly operation?: string;
  readonly isRead?: boolean;
}

/** Describes an error to the caller, who may be anybody: nothing about the inside of the service. */
export function describeError(error: unknown, context: ErrorContext): ErrorDescription {
  const { requestId, operation = "The request", isRead = false } = context;
  if (error instanceof HttpError) return error;
  if (error instanceof RejectionError) {
    const { code, message, details } = error;
    return { code, message, detail: formatFaults(details, "The body"), details };
  }
  if (error instanceof UnknownTopicError) return { code: "NOT_FOUND", message: toSentence(error.message) };
  if (error instanceof VersionConflictError || error instanceof DetailsConflictError) {
    return {
      code: "VERSION_CONFLICT",
      message: toSentence(error.message),
      detail: "Nothing was changed. Read the topic again, and decide on what it is now.",
    };
  }
  if (error instanceof ChangesRejectedError) return describeRejections(error, context);
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

const toSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

/** All changes that cannot be made, with the code of the first. */
function describeRejections({ rejections }: ChangesRejectedError, context: ErrorContext): ErrorDescription {
  const details = rejections.flatMap(({ index, problem }) => {
    const path = `/changes/${index}`;
    const faults = problem instanceof RejectionError ? problem.details : [];
    if (faults.length === 0) return [{ path, message: problem.message }];
    return faults.map((fault) => ({ ...fault, path: `${path}${fault.path}` }));
  });
  const first = describeError(rejections[0]?.problem, context);
  return first.details === undefined
    ? { ...first, details }
    : { ...first, detail: formatFaults(details, "The body"), details };
}
