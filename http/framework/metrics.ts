import type { ErrorCode } from "../../src/operations/framework/errors.ts";
import { toKnownMethod, type Handler } from "./context.ts";

/** What is measured of a request once its response is sent, or its connection is lost. */
export interface MeasuredRequest {
  /** A known method, or `_OTHER`. */
  readonly method: string;
  /** Path template, such as `/push/{application}/installation`; "none" if no operation has the path. */
  readonly route: string;
  /** 499 if the client left before it had the response. */
  readonly status: number;
  readonly seconds: number;
  /** Undefined if the request succeeded. */
  readonly errorCode: ErrorCode | undefined;
  /** Whether a user name and a password were rejected. */
  readonly isFailedLogin: boolean;
}

/** Called with each measured request. */
export type RecordRequest = (request: MeasuredRequest) => void;

/** The status that nginx logs for a client that left. */
const clientLeft = 499;

/** Creates the middleware that measures requests, without event streams, which last until they are closed. */
export function createRequestMetrics(record: RecordRequest): Handler {
  return (request, response, next) => {
    response.once("close", () => {
      const { statusCode, writableFinished, locals } = response;
      const { startedAt, route = "none", errorCode, claimedUser, isEventStream } = locals;
      if (isEventStream === true) return;
      record({
        method: toKnownMethod(request.method),
        route,
        status: writableFinished ? statusCode : clientLeft,
        seconds: (performance.now() - startedAt) / 1_000,
        errorCode,
        isFailedLogin: errorCode === "UNAUTHENTICATED" && claimedUser !== undefined,
      });
    });
    next();
  };
}
