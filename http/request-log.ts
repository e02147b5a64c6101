import { randomUUID } from "node:crypto";

import type { RequestHandler } from "express";

import type { Logger } from "../src/logger.ts";
import { mostUrlLength } from "./guard.ts";

/** Asked again and again by machines. */
const unlogged: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Gives each request an id, the caller's own where it is one, and logs it when it is answered or left: no headers and
 * no bodies, so no secret can slip through.
 */
export const requestLog =
  (log: Logger): RequestHandler =>
  (request, response, next) => {
    const given = request.headers["x-request-id"];
    const requestId = typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
    response.setHeader("X-Request-Id", requestId);
    const { method } = request;
    const url = pathOf(request.originalUrl);
    if (!unlogged.has(url)) {
      const began = performance.now();
      response.once("close", () => {
        const { statusCode: status, writableFinished } = response;
        const ms = Math.round(performance.now() - began);
        const line = { requestId, method, url, status, ms };
        if (!writableFinished) log.info(line, `${method} ${url}: the caller left before the answer`);
        else log[status >= 500 ? "warn" : "info"](line, `${method} ${url} ${status}`);
      });
    }
    next();
  };

/** Without the query, which may hold what nobody should read; and not endless. */
function pathOf(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, mostUrlLength));
}
