import type { IncomingMessage, ServerResponse } from "node:http";

import { maxUrlLength, type Handler } from "./context.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";

const maxHeaders = 100;
/** Node silently drops headers beyond its own limit. One more than ours shows that there are too many. */
export const maxHeadersRead = maxHeaders + 1;
/** Node discards an unread body up to this size after the response and keeps the connection. */
export const maxBodyBytes = 100 * 1024;

/** Limits for draining an unwanted body, so that the client sees the response. */
const maxLingerBytes = 1024 * 1024;
const lingerMs = 1_000;

/** Whether the client waits for `100 Continue`. Unknown in HTTP/1.0 (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersion === "1.1";

/**
 * Rejects requests that no operation should see: oversized, ambiguous (request smuggling) or with unknown
 * expectations.
 */
export const checkMessage: Handler = (request, response, next) => {
  if (mayStayUnread(request)) closeAfterUnreadBody(request, response);
  if (request.url.length > maxUrlLength)
    throw new HttpError("URI_TOO_LONG", `The URL exceeds ${maxUrlLength} characters.`);
  if (request.rawHeaders.length > 2 * maxHeaders)
    throw new HttpError("HEADERS_TOO_LARGE", `The request has more than ${maxHeaders} headers.`);
  const fault = findMessageFault(request);
  if (fault !== undefined) {
    response.setHeader("Connection", "close");
    throw new HttpError("BAD_REQUEST", fault);
  }
  // Node's parser drops all bytes after an upgrade request.
  if (request.headers.upgrade !== undefined) response.setHeader("Connection", "close");
  if (expectsContinue(request) && request.headers.expect?.toLowerCase() !== "100-continue")
    throw new HttpError("EXPECTATION_FAILED", 'The only supported expectation is "100-continue".');
  next();
};

/** A host as it may appear in a URL, and an optional port (RFC 3986, section 3.2.2). May be empty. */
const hostAndPort = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * What makes a request invalid by RFC 9112 although Node's parser accepts it. Programs that disagree on where
 * a request ends allow request smuggling.
 */
function findMessageFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  // Node also parses HTTP/0.9 and the preface of HTTP/2.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "Only HTTP/1.1 and HTTP/1.0 are supported.";
  const { host, "transfer-encoding": coding } = headers;
  if (coding !== undefined) {
    // Section 6.1.
    if (httpVersion === "1.0") return "HTTP/1.0 does not support Transfer-Encoding.";
    if (coding.toLowerCase() !== "chunked") return 'The only supported Transfer-Encoding is "chunked".';
  }
  // Section 3.2.
  if (host === undefined) return httpVersion === "1.1" ? "The Host header is missing." : undefined;
  if (!hostAndPort.test(host)) return "The Host header is invalid.";
  return isRepeated("host", rawHeaders) ? "The request has more than one Host header." : undefined;
}

/** Node keeps the first one and drops the others. */
function isRepeated(header: string, rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === header.length && name.toLowerCase() === header) count += 1;
  }
  return count > 1;
}

const absoluteForm = /^https?:\/\/([^/?#]+)(.*)$/is;

/**
 * Path and query of a request target, which may be an absolute URL (RFC 9112, section 3.2.2). Anything else
 * becomes a path that does not exist: Express itself responds to targets that it cannot parse.
 */
export function toOriginForm(target: string): string {
  if (target.startsWith("/")) return target;
  const [, authority = "", rest = ""] = absoluteForm.exec(target) ?? [];
  if (authority === "" || !hostAndPort.test(authority)) return `/${target}`;
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** Whether the body is large, of unknown length or still to be asked for. */
function mayStayUnread(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding !== undefined) return true;
  if (length === undefined || length === "0") return false;
  return Number(length) > maxBodyBytes || expectsContinue(request);
}

/**
 * Closes the connection after the response if the request's body is not read by then. It is closed with a
 * delay: closing a socket with unread data makes the client lose the response (RFC 9112, section 9.6).
 */
function closeAfterUnreadBody(request: IncomingMessage, response: ServerResponse): void {
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
