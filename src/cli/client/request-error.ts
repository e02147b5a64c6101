import { exitCodes, UnavailableError } from "@topicsync/lib/errors";

/** Why an operation did not do what it was asked for. */
interface ErrorAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly detail: string;
}

/** An operation refused a request. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  /** A code of an error body. */
  readonly code: string;
  readonly exitCode: number;

  constructor({ status, code, message, detail }: ErrorAnswer) {
    super([message, detail].filter((text) => text !== "").join(" "));
    this.code = code;
    this.exitCode = status === 404 || status >= 500 ? exitCodes.failure : exitCodes.rejected;
  }
}

/** The error to throw: one that may pass is an UnavailableError. */
export const toRequestError = (answer: ErrorAnswer): Error =>
  [429, 502, 503, 504].includes(answer.status)
    ? new UnavailableError(new RequestError(answer).message)
    : new RequestError(answer);
