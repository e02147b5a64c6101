import type { Logger } from "../../src/lib/logger.ts";
import type { Exchange } from "./exchange.ts";
import { maxUrlLength } from "./guard.ts";

const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Whether a path is asked again and again by machines: nobody wants to read of that. */
export const isProbe = (path: string): boolean => probes.has(path);

/** How a request was answered. */
export interface RequestOutcome {
  readonly status: number;
  /** Whether the audit tells of the request as well. */
  readonly audited: boolean;
}

/** Logs a request that was just answered: no headers and no bodies, so no secret can slip through. */
export type LogRequest = (exchange: Exchange, outcome: RequestOutcome) => void;

/** Makes the log of requests. */
export function createRequestLog(log: Logger): LogRequest {
  // Lines of a fixed shape have nothing to redact, and to look for it takes longer than to write them.
  const lines = log.child({}, { redact: [] });
  return ({ request, requestId, began }, { status, audited }) => {
    const left = request.socket.destroyed;
    const level = levelOf({ status, audited, left });
    if (!lines.isLevelEnabled(level)) return;
    const { method = "", url: target = "" } = request;
    const url = getPath(target);
    if (isProbe(url)) return;
    const end = left ? ": the caller left before the answer" : ` ${status}`;
    lines[level](
      { requestId, method, url, status, ms: Math.round(performance.now() - began) },
      `${method} ${url}${end}`,
    );
  };
}

function levelOf({
  status,
  audited,
  left,
}: RequestOutcome & { readonly left: boolean }): "warn" | "info" | "debug" {
  if (left) return "info";
  if (status >= 500) return "warn";
  return audited ? "debug" : "info";
}

/** Without the query, which may hold what nobody should read; and not endless. */
export function getPath(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, Math.min(query === -1 ? url.length : query, maxUrlLength));
}
