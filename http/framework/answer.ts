import type { IncomingMessage, ServerResponse } from "node:http";

import type { Logger } from "../../src/lib/logger.ts";
import type { ErrorCode } from "./errors.ts";
import { createEventStreams, eventStreamHeaders, type Watched } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";
import { createRequestLog } from "./logging.ts";
import type { TraceRequest } from "./tracing.ts";
import type { Headers, ReplyHeaders } from "./headers.ts";
import { isUnread, maxLingerBytes, lingerMs } from "./unread.ts";

/** The Content-Type of JSON. */
export const jsonType = "application/json; charset=utf-8";

/** What is sent. */
export interface HttpResponseBody {
  readonly status: number;
  /** Without it the answer has no body. */
  readonly body?: { readonly type: string; readonly content: string | Buffer } | undefined;
  /** Sent as they come, instead of a body. */
  readonly watched?: Watched | undefined;
  /** In the spelling of the headers that every answer has, so that these can be replaced. */
  readonly headers?: ReplyHeaders | undefined;
  /** Whether the audit tells of the request: its line in the log is for debugging only. */
  readonly audited?: boolean;
  /** Of an error. */
  readonly code?: ErrorCode;
}

/**
 * Answers a request, writes its line in the log, and tells of it where requests are traced. Throws OverloadedError, before
 * anything is sent, when too many watch events.
 */
export type Send = (exchange: Exchange, answer: HttpResponseBody) => void;

export interface SendOptions {
  /** The headers of every answer. */
  readonly common: Headers;
  readonly log: Logger;
  /** Undefined: requests are not traced. */
  readonly trace: TraceRequest | undefined;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Makes the one place where requests are answered. */
export function createSend({ common, log, trace, stopping }: SendOptions): Send {
  const tell = createRequestLog(log);
  const commonLines = linesOf(common);
  const streams = createEventStreams(stopping);

  function sendEvents(exchange: Exchange, watched: Watched): void {
    const { response, requestId } = exchange;
    streams.admit(watched.user);
    response.shouldKeepAlive = false;
    const headers = { ...common, "X-Request-Id": requestId, ...eventStreamHeaders };
    response.writeHead(200, linesOf(headers));
    streams
      .send(response, watched)
      .catch((error: unknown) => {
        log.error({ requestId, err: error }, "the events ended unexpectedly");
      })
      .finally(() => {
        tell(exchange, { status: 200, audited: false });
        trace?.(exchange, { status: 200, code: undefined });
      });
  }

  return (exchange, { status, body, watched, headers, audited = false, code }) => {
    if (watched !== undefined) {
      sendEvents(exchange, watched);
      return;
    }
    const { request, response, requestId } = exchange;
    const lines = headers === undefined ? commonLines.slice() : linesOf({ ...common, ...headers });
    lines.push("X-Request-Id", requestId);
    if (body !== undefined) lines.push("Content-Type", body.type);
    const content = body?.content ?? "";
    lines.push("Content-Length", String(Buffer.byteLength(content)));
    const unread = isUnread(request);
    if (unread) response.shouldKeepAlive = false;
    response.writeHead(status, lines);
    if (unread) endAfterLingering(request, response, content);
    else response.end(content);
    tell(exchange, { status, audited });
    trace?.(exchange, { status, code });
  };
}

/** Names and values in turn, as Node writes them without looking at them one by one. */
const linesOf = (headers: ReplyHeaders): string[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [name, value] : value.flatMap((one) => [name, one]),
  );

/**
 * Ends an answer with a body of the request still to come. The connection is closed after it, but not at once: what lies
 * unread when a connection is closed makes the other side lose the answer (RFC 9112, section 9.6).
 */
function endAfterLingering(
  request: IncomingMessage,
  response: ServerResponse,
  content: string | Buffer,
): void {
  response.write(content);
  let taken = 0;
  const end = (): void => {
    clearTimeout(late);
    response.end();
  };
  const late = setTimeout(end, lingerMs);
  request
    .on("data", (chunk: Buffer) => {
      taken += chunk.length;
      if (taken > maxLingerBytes) end();
    })
    .once("close", end)
    .once("end", end)
    .resume();
}
