import type { Request } from "express";
import type { ServerResponse } from "node:http";

import type { Handler } from "./context.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";

/** What a page may send and read, besides what every page may (Fetch standard, section 3.3). */
const corsHeaders = {
  request: "Authorization, Content-Type",
  response: "Retry-After, X-Request-Id",
} as const;

/** How long a browser may keep the answer to a preflight. */
const preflightSeconds = "600";

/**
 * Creates the middleware that rejects a request which a page of another site made the browser send, even if
 * the browser added credentials. A sibling host is another site. Programs send neither header.
 *
 * @param publicUrl - Where browsers reach the service, if known.
 * @param allowedOrigins - Other sites whose pages may send it, and read the response.
 */
export const rejectCrossSite = (
  publicUrl: string | undefined,
  allowedOrigins: readonly string[],
): Handler => {
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  return (request, response, next) => {
    // Browsers send it to HTTPS and loopback addresses only; `none` is the user's own doing.
    const { "sec-fetch-site": site, origin } = request.headers;
    if (allowOrigin(origin, allowedOrigins, response)) {
      next();
      return;
    }
    const isOwn =
      site === undefined
        ? origin === undefined || origin === publicOrigin || isOrigin(request as Request, origin)
        : site === "same-origin" || site === "none";
    if (!isOwn) {
      throw new HttpError("FORBIDDEN", "The request comes from a page of another site.", {
        detail: "If it does not, let the proxy keep the Host header, or set HTTP_PUBLIC_URL.",
      });
    }
    next();
  };
};

/** Creates the middleware that lets pages of allowed origins read the response of an operation that reads. */
export const allowCrossOrigin =
  (allowedOrigins: readonly string[]): Handler =>
  ({ headers }, response, next) => {
    allowOrigin(headers.origin, allowedOrigins, response);
    next();
  };

/** Creates the middleware that answers the preflight of a request from an allowed origin. */
export const answerPreflight =
  (method: string, allowedOrigins: readonly string[]): Handler =>
  ({ headers }, response, next) => {
    const isPreflight = headers["access-control-request-method"] === method;
    if (!isPreflight || !allowOrigin(headers.origin, allowedOrigins, response)) {
      next();
      return;
    }
    response
      .status(204)
      .set("Access-Control-Allow-Methods", method)
      .set("Access-Control-Allow-Headers", corsHeaders.request)
      .set("Access-Control-Max-Age", preflightSeconds)
      .end();
  };

/** Lets pages of an allowed origin read the response; false for any other. */
function allowOrigin(
  origin: string | undefined,
  allowedOrigins: readonly string[],
  response: Pick<ServerResponse, "setHeader">,
): boolean {
  if (allowedOrigins.length > 0) response.setHeader("Vary", "Origin");
  if (origin === undefined || !allowedOrigins.includes(origin)) return false;
  response.setHeader("Access-Control-Allow-Origin", origin);
  response.setHeader("Access-Control-Expose-Headers", corsHeaders.response);
  return true;
}

/** Whether this is the origin that the request was sent to. */
function isOrigin(request: Request, origin: string): boolean {
  if (request.headers.host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const own = `${protocol}//${request.host}`;
  return host !== "" && URL.canParse(own) && new URL(own).host === host;
}
