import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import type { IncomingHttpHeaders } from "node:http";
import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import { TLSSocket } from "node:tls";

import type { Origin } from "@topicsync/lib/audit/audit";
import type { Session } from "../../src/users/session.ts";
import type { User } from "../../src/users/user.ts";
import type { ErrorCode } from "../../src/operations/framework/errors.ts";

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
  /** The path below which browsers see the service; "" for none. */
  basePath: string;
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
  const basePath = getBasePath(publicUrl);
  return (request, response, next) => {
    const { accept } = request.headers;
    if (accept !== undefined) request.headers.accept = stripParameters(accept);
    const behindProxy = isTrustedProxy(request);
    if (behindProxy) removePorts(request.headers);
    const requestId = (behindProxy ? readRequestId(request.headers) : undefined) ?? randomUUID();
    // Express looks in the headers of a trusted proxy.
    const { ip, secure } = behindProxy ? request : direct;
    // Express's own object is a dictionary, which takes longer to fill.
    response.locals = {
      requestId,
      startedAt: performance.now(),
      address: toAddress(ip, request.socket.remoteAddress),
      // Over TLS to this server, the X-Forwarded-Proto of a trusted proxy does not matter.
      secure: isAlwaysSecure || request.socket instanceof TLSSocket || secure,
      ...{ behindProxy, basePath },
    };
    response.setHeader("X-Request-Id", requestId);
    next();
  };
}

/** The path of a public URL, without a slash at the end. */
export const getBasePath = (publicUrl: string | undefined): string =>
  publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");

/** The headers of a client that is not a trusted proxy are not trusted. */
const direct = { ip: undefined, secure: false };

/** Quoted strings, separators, and what is between them. */
const tokens = /"(?:\\.|[^"\\])*(?:"|\\?$)|[,;]|[^",;]+/gs;

/**
 * An `Accept` header without the parameters of its media ranges, except for their weights: a charset or a
 * profile says how the caller would like its JSON, not that it takes none (RFC 9110, section 12.5.1).
 */
export function stripParameters(accept: string): string {
  if (!accept.includes(";")) return accept;
  const ranges: string[][] = [[""]];
  for (const token of accept.match(tokens) ?? []) {
    const parts = ranges.at(-1) ?? [];
    if (token === ",") ranges.push([""]);
    else if (token === ";") parts.push("");
    else parts.push(`${parts.pop() ?? ""}${token}`);
  }
  return ranges
    .map((parts) => parts.filter((part, index) => index === 0 || isWeight(part)).join(";"))
    .join(",");
}

const isWeight = (parameter: string): boolean => /^q=/i.test(parameter.trim());

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

export function readRequestId({ "x-request-id": given }: IncomingHttpHeaders): string | undefined {
  return typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : undefined;
}

/** A trusted proxy may still send an X-Forwarded-For that is not an IP address. */
function toAddress(ip: string | undefined, remoteAddress = ""): string {
  const address = ip !== undefined && isIP(ip) !== 0 ? ip : remoteAddress;
  // IPv4 as a socket that listens on IPv6 shows it.
  return address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
}

/** The path without the query, which may hold secrets, and cut to a fixed length. */
export function getPath(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, maxUrlLength));
}
