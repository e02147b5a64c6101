import {
  KafkaUnavailableError,
  getErrorMessage,
  OverloadedError,
  RefusalError,
  toSentence,
  NotLoadedError,
  TooManyAttemptsError,
  UnavailableError,
} from "../../src/lib/errors.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { jsonType, type Send } from "./answer.ts";
import { toErrorBody, HttpError, getStatus, type ErrorDescription } from "./errors.ts";
import type { Exchange } from "./exchange.ts";

/** Answers a request with what went wrong. Never throws. */
export type Fail = (exchange: Exchange, error: unknown) => void;

const retryAfterSeconds = "5";

/** Makes the one place where errors are answered. An unforeseen one is logged whole; its answer has the operation and the request id. */
export const createFail =
  (send: Send, log: Logger): Fail =>
  (exchange, error) => {
    const { requestId, operation } = exchange;
    const described = describe(error, exchange);
    const { code, headers } = described;
    if (code === "INTERNAL") log.error({ requestId, operation, err: error }, "the request failed");
    if (code === "UNAVAILABLE" || code === "OVERLOADED")
      log.warn({ requestId, reason: reasonOf(error) }, "the request could not be served");
    const body = { type: jsonType, content: JSON.stringify(toErrorBody(described)) };
    send(exchange, { status: getStatus(described), body, headers, code });
  };

const reasonOf = (error: unknown): string =>
  getErrorMessage(error instanceof HttpError ? (error.cause ?? error) : error);

function describe(error: unknown, { requestId, operation = "The request" }: Exchange): ErrorDescription {
  const plain = { detail: "", details: [], headers: {} };
  if (error instanceof HttpError) {
    return {
      ...plain,
      code: error.code,
      message: error.message,
      detail: error.detail,
      headers: error.headers,
      status: error.status,
    };
  }
  if (error instanceof RefusalError) {
    const detail = toSentence(error.details, "The body");
    return { ...plain, code: error.code, message: error.message, detail, details: error.details };
  }
  if (error instanceof NotLoadedError) {
    return {
      ...plain,
      code: "UNAVAILABLE",
      message: `Not yet: ${error.message}.`,
      detail: `Try again in ${retryAfterSeconds} seconds.`,
      headers: { "Retry-After": retryAfterSeconds },
    };
  }
  if (error instanceof UnavailableError) {
    return {
      ...plain,
      code: "UNAVAILABLE",
      message: `${error instanceof KafkaUnavailableError ? "Kafka" : "The database"} does not answer at the moment.`,
      detail: `It is not known to be stored. Try again in ${retryAfterSeconds} seconds. Request id: ${requestId}.`,
      headers: { "Retry-After": retryAfterSeconds },
    };
  }
  if (error instanceof OverloadedError) {
    return {
      ...plain,
      code: "OVERLOADED",
      message: "More requests are waiting than can be served at the moment.",
      detail: "Nothing was stored. Try again in a second.",
      headers: { "Retry-After": "1" },
    };
  }
  if (error instanceof TooManyAttemptsError) {
    const { retryAfterSeconds } = error;
    return {
      ...plain,
      code: "TOO_MANY_ATTEMPTS",
      message: "Too many logins failed lately: these credentials were not checked.",
      detail: `Try again in ${retryAfterSeconds} seconds.`,
      headers: { "Retry-After": String(retryAfterSeconds) },
    };
  }
  if (isMalformedPath(error)) {
    return { ...plain, code: "BAD_REQUEST", message: "The path has a malformed percent-encoding." };
  }
  return {
    ...plain,
    code: "INTERNAL",
    message: `${operation} failed unexpectedly.`,
    detail: `The service's log tells more under the request id ${requestId}.`,
  };
}

const isMalformedPath = (error: unknown): boolean => error instanceof URIError;
