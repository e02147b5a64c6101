import { createClock, type Tracing } from "@topicsync/lib/tracing";
import { getPath, isProbe, toKnownMethod, type Handler } from "./context.ts";

/**
 * Creates the middleware that records a span per request by OpenTelemetry's conventions for HTTP, as a child
 * of the `traceparent` of an authenticated caller or a trusted proxy. No headers, query or body. Only 5xx is
 * an error; the code of any other failure is an attribute.
 */
export function createRequestTracing(tracing: Tracing, { overTls }: { readonly overTls: boolean }): Handler {
  const scheme = overTls ? "https" : "http";
  return (request, response, next) => {
    const path = getPath(request.url);
    if (!isProbe(path)) {
      response.once("close", () => {
        const { statusCode: status, locals } = response;
        const { requestId, startedAt, route, errorCode } = locals;
        const endedAt = createClock()();
        const method = toKnownMethod(request.method);
        tracing.record({
          name: `${method === "_OTHER" ? "HTTP" : method}${route === undefined ? "" : ` ${route}`}`,
          kind: "server",
          // A stranger must not decide what is sampled.
          parent:
            locals.behindProxy || locals.caller !== undefined
              ? tracing.extractContext((name) => request.headers[name]?.toString())
              : undefined,
          startedAt: endedAt - (performance.now() - startedAt),
          endedAt,
          attributes: {
            "http.request.method": method,
            ...(route === undefined ? {} : { "http.route": route }),
            "http.response.status_code": status,
            "url.path": path,
            "url.scheme": scheme,
            "network.protocol.version": request.httpVersion,
            "topicsync.request.id": requestId,
            ...(errorCode === undefined ? {} : { "topicsync.code": errorCode }),
          },
          error: status >= 500 ? (errorCode ?? String(status)) : undefined,
        });
      });
    }
    next();
  };
}
