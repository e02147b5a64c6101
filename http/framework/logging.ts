import type { Logger } from "../../src/lib/logger.ts";
import type { Handler } from "./context.ts";
import { maxUrlLength } from "./message.ts";

const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Whether machines poll the path so often that it is neither logged nor traced. */
export const isProbe = (path: string): boolean => probes.has(path);

/** Creates the middleware that logs each request when its response is sent, without headers and bodies, so without secrets. */
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
