import type { ErrorRequestHandler, RequestHandler } from "express";
import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { TLSSocket } from "node:tls";

import type { Logger } from "../../src/lib/logger.ts";
import type { Session } from "../../src/sessions/session.ts";
import type { User } from "../../src/users/user.ts";
import type { ErrorCode } from "./errors.ts";

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
  /** Set by the error middleware. */
  errorCode?: ErrorCode;
  /** Whether the request has an audit record, which makes its log line redundant. */
  audited?: boolean;
}

/** Longer ones are rejected, and cut in logs and traces. */
export const maxUrlLength = 2_048;

type PathParameters = Record<string, string>;
type Query = Record<string, unknown>;
type Locals = Record<string, unknown> & RequestContext;

export type Handler = RequestHandler<PathParameters, unknown, unknown, Query, Locals>;
export type ErrorHandler = ErrorRequestHandler<PathParameters, unknown, unknown, Query, Locals>;

/**
 * Creates the middleware that fills the request context. A valid request id of the client's own is kept.
 *
 * @param publicUrl - Where browsers reach the service. With `https:` every request counts as secure.
 */
export function createRequestContext(publicUrl: string | undefined): Handler {
  const isAlwaysSecure = publicUrl?.startsWith("https:") === true;
  return (request, response, next) => {
    const { locals } = response;
    const given = request.headers["x-request-id"];
    locals.requestId = typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    locals.startedAt = performance.now();
    locals.address = toAddress(request.ip, request.socket.remoteAddress);
    // Over TLS to this server, the X-Forwarded-Proto of a trusted proxy does not matter.
    locals.secure = isAlwaysSecure || request.socket instanceof TLSSocket || request.secure;
    response.setHeader("X-Request-Id", locals.requestId);
    next();
  };
}

/** A trusted proxy may still send an X-Forwarded-For that is no address. */
function toAddress(ip: string | undefined, remoteAddress = ""): string {
  const address = ip !== undefined && isIP(ip) !== 0 ? ip : remoteAddress;
  // IPv4 as a socket that listens on IPv6 shows it.
  return address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
}

const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Whether machines poll the path so often that it is neither logged nor traced. */
export const isProbe = (path: string): boolean => probes.has(path);

/** Creates the middleware that logs each request after its response: no headers, no bodies, so no secrets. */
export function createRequestLog(log: Logger): Handler {
  // The fields are fixed and hold no secrets; looking for some would take longer than writing the line.
  const requestLog = log.child({}, { redact: [] });
  return (request, response, next) => {
    const path = getPath(request.url);
    if (!isProbe(path)) {
      response.once("close", () => {
        const { statusCode: status, writableFinished, locals } = response;
        const { requestId, startedAt, audited } = locals;
        const level = getLevel(status, { audited, completed: writableFinished });
        if (!requestLog.isLevelEnabled(level)) return;
        const durationMs = Math.round(performance.now() - startedAt);
        const fields = { requestId, method: request.method, path, durationMs };
        if (writableFinished) requestLog[level]({ ...fields, status }, "request completed");
        else requestLog[level](fields, "request aborted");
      });
    }
    next();
  };
}

function getLevel(
  status: number,
  { audited, completed }: { readonly audited: boolean | undefined; readonly completed: boolean },
): "warn" | "info" | "debug" {
  if (!completed) return "info";
  if (status >= 500) return "warn";
  return audited === true ? "debug" : "info";
}

/** The path without the query, which may hold secrets, and cut to a fixed length. */
export function getPath(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, maxUrlLength));
}
