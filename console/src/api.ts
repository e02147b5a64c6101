import type { ErrorBody } from "../../schemas/error.ts";

/** A refusal of the service, or that it cannot be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly detail: string;
  readonly details: ErrorBody["error"]["details"];

  constructor(status: number, error: Pick<ErrorBody["error"], "message" | "detail" | "details">) {
    super(error.message);
    this.status = status;
    this.detail = error.detail;
    this.details = error.details;
  }
}

const unreachable = {
  message: "The service cannot be reached.",
  detail: "It may be restarting, or the network is down.",
  details: [],
};
const unreadable = {
  message: "The service gave an answer that is none of its own.",
  detail: "",
  details: [],
};

/** Before anybody is signed in it says where the request comes from. */
let csrfToken = "none";

/** Remembers what goes with each request. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token ?? "none";
}

/** Asks the service. Throws an ApiError; what the fetch throws when the signal aborts it. */
export async function ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = {
    "X-CSRF-Token": csrfToken,
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
  const response = await fetch(path, { ...sent, headers, signal: signal ?? null }).catch(() => undefined);
  signal?.throwIfAborted();
  if (response === undefined) throw new ApiError(0, unreachable);
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new ApiError(response.status, errorIn(text));
}

function errorIn(text: string): ErrorBody["error"] | typeof unreadable {
  try {
    return (JSON.parse(text) as ErrorBody).error;
  } catch {
    return unreadable;
  }
}
