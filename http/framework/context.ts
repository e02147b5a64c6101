import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import type { IncomingHttpHeaders } from "node:http";
import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { TLSSocket } from "node:tls";

import type { Origin } from "@topicsync/lib/audit/audit";
import type { Logger } from "@topicsync/lib/logger";
import type { Session } from "../../src/users/session.ts";
import type { User } from "../../src/users/user.ts";
import { stripParameters } from "./accept.ts";
import type { ErrorCode } from "../../src/operations/framework/errors.ts";
import { noStore } from "./headers.ts";

/** The user who sent a request, and the session it was sent in, if any. */
export interface Caller {
  readonly user: User;
  readonly session?: Session;
}

/** `response.locals`: what the middleware knows about a request. */
export interface RequestContext {
  requestId: string;
  /** When the headers had arrived, by `performance.now()`. */
  startedAt: number;
  /** The client's network address, taken from X-Forwarded-For where a trusted proxy sent it. */
  address: string;
  /** Whether the client uses TLS, to this server or to a proxy in front of it. */
  secure: boolean;
  /** Path template, such as `/push/{application}/installation`. Undefined until a route matched. */
  route?: string;
  /** Id of the operation, such as `createTopic`. Undefined until a route matched. */
  operation?: string;
  caller?: Caller;
  /** The user name of a login that may have failed. */
  claimedUser?: string;
  /** What the caller presented to log in, except for a session. */
  credentials?: "password" | "key" | "token";
  /** Whether a trusted proxy sent the request: then its request id and trace are those of the caller. */
  behindProxy: boolean;
  /** Set by the error middleware. */
  errorCode?: ErrorCode;
  /** Whether the response is an event stream, which lasts until it is closed. */
  isEventStream?: boolean;
  /** Whether the request has an audit record, which makes its log line redundant. */
  audited?: boolean;
}

/** Who sent a request, for the audit log. */
export const toOrigin = ({ caller, address, requestId }: RequestContext, by = caller?.user): Origin => ({
  via: "http",
  by: by?.name ?? "",
  from: address,
  requestId,
});

/** Longer ones are rejected, and cut in logs and traces. */
export const maxUrlLength = 2_048;

type PathParameters = Record<string, string>;
type Query = Record<string, unknown>;
type Locals = Record<string, unknown> & RequestContext;

export type Handler = RequestHandler<PathParameters, unknown, unknown, Query, Locals>;
export type ErrorHandler = ErrorRequestHandler<PathParameters, unknown, unknown, Query, Locals>;

/**
 * Creates the middleware that fills the request context. A valid request id of a trusted proxy is kept;
 * anybody else could choose one to confuse the logs.
 *
 * @param publicUrl - Where browsers reach the service. With `https:` every request counts as secure.
 */
export function createRequestContext(publicUrl: string | undefined): Handler {
  const isAlwaysSecure = publicUrl?.startsWith("https:") === true;
  return (request, response, next) => {
    const { locals } = response;
    const { accept } = request.headers;
    if (accept !== undefined) request.headers.accept = stripParameters(accept);
    locals.behindProxy = isTrustedProxy(request);
    if (locals.behindProxy) removePorts(request.headers);
    locals.requestId = (locals.behindProxy ? readRequestId(request.headers) : undefined) ?? randomUUID();
    locals.startedAt = performance.now();
    locals.address = toAddress(request.ip, request.socket.remoteAddress);
    // Over TLS to this server, the X-Forwarded-Proto of a trusted proxy does not matter.
    locals.secure = isAlwaysSecure || request.socket instanceof TLSSocket || request.secure;
    response.setHeader("X-Request-Id", locals.requestId);
    response.setHeader("Cache-Control", noStore);
    next();
  };
}

/** Whether the other end of the connection is one of HTTP_TRUSTED_PROXIES. */
function isTrustedProxy({ app, socket }: Pick<Request, "app" | "socket">): boolean {
  const isTrusted = app.get("trust proxy fn") as (address: string | undefined, hops: number) => boolean;
  return isTrusted(socket.remoteAddress, 0);
}

/** An address with a port or in brackets, as some proxies write it into X-Forwarded-For. */
const bracketsOrPort = /^(?:\[([\da-f:.]+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/i;

/** Leaves only addresses in X-Forwarded-For, in which Express looks for the client's. */
function removePorts(headers: IncomingHttpHeaders): void {
  const forwarded = headers["x-forwarded-for"];
  if (typeof forwarded !== "string") return;
  const addresses = forwarded.split(",").map((one) => one.trim().replace(bracketsOrPort, "$1$2"));
  headers["x-forwarded-for"] = addresses.join(",");
}

function readRequestId({ "x-request-id": given }: IncomingHttpHeaders): string | undefined {
  return typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : undefined;
}

/** A trusted proxy may still send an X-Forwarded-For that is not an IP address. */
function toAddress(ip: string | undefined, remoteAddress = ""): string {
  const address = ip !== undefined && isIP(ip) !== 0 ? ip : remoteAddress;
  // IPv4 as a socket that listens on IPv6 shows it.
  return address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
}

const healthPaths = ["/healthz", "/readyz"];
const probes: ReadonlySet<string> = new Set([...healthPaths, "/metrics"]);

/** Whether the path says how the service is. */
export const isHealthPath = (path: string): boolean => healthPaths.includes(path);

/** Whether machines poll the path so often that it is not traced, and logged only when it is rejected. */
export const isProbe = (path: string): boolean => probes.has(path);

/** Creates the middleware that logs each request after its response: no headers, no bodies, so no secrets. */
export function createRequestLog(log: Logger): Handler {
  // The fields are fixed and hold no secrets; looking for some would take longer than writing the line.
  const requestLog = log.child({}, { redact: [] });
  return (request, response, next) => {
    const path = getPath(request.url);
    const logRequest = (): void => {
      const { statusCode: status, writableFinished, locals } = response;
      if (isProbe(path) && !rejections.has(status)) return;
      const { requestId, startedAt, audited } = locals;
      const level = getLevel(status, { audited, completed: writableFinished });
      if (!requestLog.isLevelEnabled(level)) return;
      const durationMs = Math.round(performance.now() - startedAt);
      const clientRequestId = readRequestId(request.headers);
      const fields = {
        requestId,
        ...(clientRequestId === undefined || clientRequestId === requestId ? {} : { clientRequestId }),
        ...{ method: request.method, path, durationMs },
        ...(rejections.has(status) ? describeRejected(locals) : {}),
      };
      if (writableFinished) requestLog[level]({ ...fields, status }, "request completed");
      else requestLog[level](fields, "request aborted");
    };
    response.once("close", logRequest);
    next();
  };
}

/** Statuses of requests whose sender somebody may have to find. */
const rejections: ReadonlySet<number> = new Set([401, 403, 429]);

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

/** Known methods. Any other is `_OTHER`, to bound their number (OpenTelemetry's conventions for HTTP). */
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

/** The method of a request in metrics and traces. */
export const toKnownMethod = (method: string): string => (methods.has(method) ? method : "_OTHER");

/** The path without the query, which may hold secrets, and cut to a fixed length. */
export function getPath(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, maxUrlLength));
}
