import type { Logger } from "@topicsync/lib/logger";
import type { Tracing } from "@topicsync/lib/tracing";
import type { ErrorCode } from "../../src/operations/framework/errors.ts";
import { getPath, readRequestId, type Handler, type RequestContext } from "./context.ts";

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

/** Where each request is reported once it is over. */
export interface Observers {
  readonly log: Logger;
  /** Called with each measured request. */
  readonly recordRequest: (request: MeasuredRequest) => void;
  /** Undefined: requests are not traced. */
  readonly tracing?: Tracing | undefined;
  /** Whether this server uses TLS. */
  readonly overTls: boolean;
}

/** A request whose response is sent, or whose connection is lost. */
interface Finished {
  readonly request: Parameters<Handler>[0];
  readonly path: string;
  /** A known method, or `_OTHER`. */
  readonly method: string;
  readonly status: number;
  /** Whether the client got the whole response. */
  readonly completed: boolean;
  readonly durationMs: number;
  readonly locals: RequestContext;
}

/** Creates the middleware that logs, measures and traces each request once it is over. */
export function observeRequests({ log, recordRequest, tracing, overTls }: Observers): Handler {
  // The fields are fixed and hold no secrets; looking for some would take longer than writing the line.
  const requestLog = log.child({}, { redact: [] });
  const scheme = overTls ? "https" : "http";
  return (request, response, next) => {
    const path = getPath(request.url);
    response.once("close", () => {
      const { statusCode: status, writableFinished: completed, locals } = response;
      const durationMs = performance.now() - locals.startedAt;
      const method = toKnownMethod(request.method);
      const finished = { request, path, method, status, completed, durationMs, locals };
      logRequest(requestLog, finished);
      // An event stream lasts until it is closed.
      if (locals.isEventStream !== true) recordRequest(measure(finished));
      if (tracing !== undefined && !isProbe(path)) trace(tracing, scheme, finished);
    });
    next();
  };
}

const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Whether machines poll the path so often that it is not traced, and logged only when it is rejected. */
const isProbe = (path: string): boolean => probes.has(path);

/** Statuses of requests whose sender somebody may have to find. */
const rejections: ReadonlySet<number> = new Set([401, 403, 429]);

/** No headers and no bodies, so no secrets. */
function logRequest(log: Logger, { request, path, status, completed, durationMs, locals }: Finished): void {
  if (isProbe(path) && !rejections.has(status)) return;
  const { requestId, audited } = locals;
  const level = getLevel(status, { audited, completed });
  if (!log.isLevelEnabled(level)) return;
  const clientRequestId = readRequestId(request.headers);
  const fields = {
    requestId,
    ...(clientRequestId === undefined || clientRequestId === requestId ? {} : { clientRequestId }),
    ...{ method: request.method, path, durationMs: Math.round(durationMs) },
    ...(rejections.has(status) ? describeRejected(locals) : {}),
  };
  if (completed) log[level]({ ...fields, status }, "request completed");
  else log[level](fields, "request aborted");
}

const maxNameLength = 100;

const describeRejected = ({ caller, claimedUser, address, errorCode }: RequestContext) => ({
  user: (caller?.user.name ?? claimedUser ?? "").slice(0, maxNameLength),
  address,
  code: errorCode,
});

function getLevel(
  status: number,
  { audited, completed }: { readonly audited: boolean | undefined; readonly completed: boolean },
): "warn" | "info" | "debug" {
  if (!completed) return "info";
  if (status >= 500) return "warn";
  return audited === true ? "debug" : "info";
}

/** The status that nginx logs for a client that left. */
const clientLeft = 499;

const measure = ({ method, status, completed, durationMs, locals }: Finished): MeasuredRequest => ({
  method,
  route: locals.route ?? "none",
  status: completed ? status : clientLeft,
  seconds: durationMs / 1_000,
  errorCode: locals.errorCode,
  isFailedLogin: locals.errorCode === "UNAUTHENTICATED" && locals.claimedUser !== undefined,
});

/**
 * Records a span by OpenTelemetry's conventions for HTTP, as a child of the `traceparent` of an authenticated
 * caller or a trusted proxy. No headers, query or body. Only 5xx is an error; the code of any other failure
 * is an attribute.
 */
function trace(
  tracing: Tracing,
  scheme: string,
  { request, path, method, status, durationMs, locals }: Finished,
): void {
  const { requestId, route, errorCode } = locals;
  const endedAt = Date.now();
  // A stranger must not decide what is sampled.
  const isTrusted = locals.behindProxy || locals.caller !== undefined;
  tracing.record({
    name: `${method === "_OTHER" ? "HTTP" : method}${route === undefined ? "" : ` ${route}`}`,
    kind: "server",
    parent: isTrusted ? tracing.extractContext((name) => request.headers[name]?.toString()) : undefined,
    startedAt: endedAt - durationMs,
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
}

/** Any other method is `_OTHER`, to bound their number (OpenTelemetry's conventions for HTTP). */
const knownMethods = new Set("GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH".split(" "));

const toKnownMethod = (method: string): string => (knownMethods.has(method) ? method : "_OTHER");
