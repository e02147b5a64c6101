import type { Request } from "express";

import type { Handler } from "./context.ts";
import { HttpError } from "./errors.ts";

/**
 * Creates the middleware that rejects a request which a page of another site made the browser send, even if
 * the browser added credentials. A sibling host is another site. Programs send neither header.
 *
 * @param publicUrl - Where browsers reach the service, if known.
 */
export const rejectCrossSite =
  (publicUrl: string | undefined): Handler =>
  (request, _response, next) => {
    // Browsers send it to HTTPS and loopback addresses only; `none` is the user's own doing.
    const { "sec-fetch-site": site, origin } = request.headers;
    const isOwn =
      site === undefined
        ? origin === undefined || origin === publicUrl || isOrigin(request as Request, origin)
        : site === "same-origin" || site === "none";
    if (!isOwn) {
      throw new HttpError("FORBIDDEN", "The request comes from a page of another site.", {
        detail: "If it does not, let the proxy keep the Host header, or set HTTP_PUBLIC_URL.",
      });
    }
    next();
  };

/** Whether this is the origin that the request was sent to. */
function isOrigin(request: Request, origin: string): boolean {
  if (request.headers.host === undefined || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const own = `${protocol}//${request.host}`;
  return host !== "" && URL.canParse(own) && new URL(own).host === host;
}
