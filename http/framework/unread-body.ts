import type { IncomingMessage, ServerResponse } from "node:http";

import type { Handler } from "./context.ts";

/** Node discards an unread body up to this size after the response and keeps the connection. */
export const maxBodyBytes = 100 * 1024;

/** How much of an unwanted body is read, and for how long, so that its sender gets to see the response. */
const maxLingerBytes = 1024 * 1024;
const lingerMs = 1_000;

/** Whether the client waits for `100 Continue`. Unknown in HTTP/1.0 (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersion === "1.1";

/**
 * Closes the connection after the response if the request's body is not read by then and is large, of unknown length or
 * still to be asked for. It is closed with a delay: closing a socket with unread data makes the client lose the response
 * (RFC 9112, section 9.6).
 */
export const closeAfterUnreadBody: Handler = (request, response, next) => {
  if (mayStayUnread(request)) lingerOnEnd(request, response);
  next();
};

function mayStayUnread(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding !== undefined) return true;
  if (length === undefined || length === "0") return false;
  return Number(length) > maxBodyBytes || expectsContinue(request);
}

function lingerOnEnd(request: IncomingMessage, response: ServerResponse): void {
  const end = response.end.bind(response);
  response.end = ((chunk?: string | Buffer) => {
    response.end = end;
    if (request.complete || response.headersSent) return chunk === undefined ? end() : end(chunk);
    response.setHeader("Connection", "close");
    if (chunk !== undefined) response.write(chunk);
    else {
      if (!response.hasHeader("Content-Length")) response.setHeader("Content-Length", 0);
      response.flushHeaders();
    }
    endAfterBody(request, response);
    return response;
  }) as typeof response.end;
}

function endAfterBody(request: IncomingMessage, response: ServerResponse): void {
  let received = 0;
  const end = (): void => {
    clearTimeout(timeout);
    response.end();
  };
  const timeout = setTimeout(end, lingerMs);
  request
    .on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received > maxLingerBytes) end();
    })
    .once("close", end)
    .once("end", end)
    .resume();
}
