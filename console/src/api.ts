import type { ErrorBody } from "../../schemas/error.ts";

/** An error response of the service, or no response at all. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 without a response. */
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
const unexpectedResponse = { message: "Unexpected response from the service.", detail: "", details: [] };

/** Required on every request. "none" until somebody has signed in. */
let csrfToken = "none";

export function setCsrfToken(token: string | null): void {
  csrfToken = token ?? "none";
}

/** Requests to the service. They throw ApiError, or the abort error of their signal. */
export const api = {
  get: <T>(path: string, signal?: AbortSignal): Promise<T> => send<T>(path, {}, signal),
  post: <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
    send<T>(path, { method: "POST", body: JSON.stringify(body) }, signal),
  delete: (path: string): Promise<undefined> => send<undefined>(path, { method: "DELETE" }, undefined),
  /** Posts JSON as it is written. */
  postJson: <T>(path: string, json: string): Promise<T> =>
    send<T>(path, { method: "POST", body: json }, undefined),
};

async function send<T>(
  path: string,
  init: { readonly method?: string; readonly body?: string },
  signal: AbortSignal | undefined,
): Promise<T> {
  const headers = new Headers({ "X-CSRF-Token": csrfToken });
  if (init.body !== undefined) headers.set("Content-Type", "application/json");
  const response = await fetch(path, { ...init, headers, signal: signal ?? null }).catch(() => undefined);
  signal?.throwIfAborted();
  if (response === undefined) throw new ApiError(0, unreachable);
  const text = await response.text();
  if (response.ok) return (text === "" ? undefined : JSON.parse(text)) as T;
  throw new ApiError(response.status, parseError(text));
}

function parseError(text: string): ErrorBody["error"] | typeof unexpectedResponse {
  try {
    return (JSON.parse(text) as ErrorBody).error;
  } catch {
    return unexpectedResponse;
  }
}
