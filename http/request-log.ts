import { randomUUID } from "node:crypto";

import type { RequestHandler, Response } from "express";

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
        const level = levelOf(response);
        if (!log.isLevelEnabled(level)) return;
        const line = { requestId, method, url, status, ms: Math.round(performance.now() - began) };
        const end = writableFinished ? ` ${status}` : ": the caller left before the answer";
        log[level](line, `${method} ${url}${end}`);
      });
    }
    next();
  };

/** An audit line tells of this request: its line in the log is for debugging only. */
export function leaveToAudit(response: Response): void {
  response.locals["audited"] = true;
}

function levelOf({ statusCode, writableFinished, locals }: Response): "warn" | "info" | "debug" {
  if (!writableFinished) return "info";
  if (statusCode >= 500) return "warn";
  return locals["audited"] === true ? "debug" : "info";
}

/** Without the query, which may hold what nobody should read; and not endless. */
function pathOf(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, mostUrlLength));
}
