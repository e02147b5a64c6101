import { traceClock, type Tracing } from "../../src/tracing/tracing.ts";
import type { ErrorCode } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { isProbe, getPath } from "./logging.ts";

/** How a request was answered. */
export interface TracedAnswer {
  readonly status: number;
  /** Of an error. */
  readonly code: ErrorCode | undefined;
}

/** Tells the traces of a request that was just answered. */
export type TraceRequest = (exchange: Exchange, answer: TracedAnswer) => void;

/** Methods by name; any other is `_OTHER`, so that nobody makes up names without end (semantic conventions of HTTP). */
const methods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
]);

/**
 * Makes what tells of requests: a span each, by OpenTelemetry's conventions for HTTP, within the caller's where a
 * `traceparent` names it. As in the log, no headers, no query and no body. Only what the service is to blame for is an
 * error; the code of a refusal is an attribute.
 */
export function createRequestTrace(
  tracing: Tracing,
  { overTls }: { readonly overTls: boolean },
): TraceRequest {
  const scheme = overTls ? "https" : "http";
  return ({ request, requestId, began, route }, { status, code }) => {
    const path = getPath(request.url ?? "");
    if (isProbe(path)) return;
    const now = traceClock();
    const ended = now();
    const method = methods.has(request.method ?? "") ? (request.method ?? "") : "_OTHER";
    tracing.tell({
      name: `${method === "_OTHER" ? "HTTP" : method}${route === undefined ? "" : ` ${route}`}`,
      kind: "server",
      parent: tracing.contextOf((name) => request.headers[name]?.toString()),
      began: ended - (performance.now() - began),
      ended,
      attributes: {
        "http.request.method": method,
        ...(route === undefined ? {} : { "http.route": route }),
        "http.response.status_code": status,
        "url.path": path,
        "url.scheme": scheme,
        "network.protocol.version": request.httpVersion,
        "topicsync.request.id": requestId,
        ...(code === undefined ? {} : { "topicsync.code": code }),
      },
      error: status >= 500 ? (code ?? String(status)) : undefined,
    });
  };
}
