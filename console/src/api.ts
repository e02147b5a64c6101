import type { ErrorBody } from "../../schemas/error.ts";
import { base } from "./base.ts";

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

interface PostOptions {
  readonly signal?: AbortSignal;
  /** The version that what is changed must have. */
  readonly version?: number;
}

/** Requests to the service. They throw ApiError, or the abort error of their signal. */
export const api = {
  get: <T>(path: string, signal?: AbortSignal): Promise<T> => send<T>(path, {}, signal),
  post: <T>(path: string, body: unknown, { signal, version }: PostOptions = {}): Promise<T> =>
    send<T>(path, { method: "POST", body: JSON.stringify(body), version }, signal),
  /** Replaces what has this version. */
  put: <T>(path: string, body: unknown, version: number): Promise<T> =>
    send<T>(path, { method: "PUT", body: JSON.stringify(body), version }, undefined),
  delete: (path: string): Promise<undefined> => send<undefined>(path, { method: "DELETE" }, undefined),
  /** Posts JSON as it is written. */
  postJson: <T>(path: string, json: string): Promise<T> =>
    send<T>(path, { method: "POST", body: json }, undefined),
  /** Posts JSON, and yields the data of the server-sent events in the response. */
  stream: <T>(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<T, undefined> =>
    streamEvents<T>(
      path,
      { method: "POST", body: JSON.stringify(body), accept: "text/event-stream" },
      signal,
    ),
};

interface RequestParts {
  readonly method?: string;
  readonly body?: string;
  /** The value of `If-Match`. */
  readonly version?: number | undefined;
  readonly accept?: string;
}

async function send<T>(path: string, parts: RequestParts, signal: AbortSignal | undefined): Promise<T> {
  const text = await (await request(path, parts, signal)).text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** Returns a successful response; throws ApiError. */
async function request(
  path: string,
  { version, accept, ...init }: RequestParts,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const headers = new Headers({ "X-CSRF-Token": csrfToken });
  if (init.body !== undefined) headers.set("Content-Type", "application/json");
  if (version !== undefined) headers.set("If-Match", `"${version}"`);
  if (accept !== undefined) headers.set("Accept", accept);
  const response = await fetch(base + path, { ...init, headers, signal: signal ?? null }).catch(
    () => undefined,
  );
  signal?.throwIfAborted();
  if (response === undefined) throw new ApiError(0, unreachable);
  if (response.ok) return response;
  throw new ApiError(response.status, parseError(await response.text()));
}

/** `EventSource` cannot post. */
async function* streamEvents<T>(
  path: string,
  parts: RequestParts,
  signal: AbortSignal,
): AsyncGenerator<T, undefined> {
  const { body } = await request(path, parts, signal);
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const part = await reader?.read().catch(() => undefined);
    signal.throwIfAborted();
    if (part === undefined) throw new ApiError(0, unreachable);
    if (part.done) return;
    const events = (text + part.value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) yield JSON.parse(event.slice("data: ".length)) as T;
  }
}

/** The error that an event reports. */
export const toApiError = ({ error }: ErrorBody): ApiError => new ApiError(0, error);

function parseError(text: string): ErrorBody["error"] | typeof unexpectedResponse {
  try {
    return (JSON.parse(text) as ErrorBody).error;
  } catch {
    return unexpectedResponse;
  }
}
