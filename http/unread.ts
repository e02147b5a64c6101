import type { IncomingMessage, ServerResponse } from "node:http";

/** A body up to this size is read, or else dropped by Node after the answer, and the connection goes on. */
export const mostBodyBytes = 100 * 1024;

/** So much of a body that nobody wants is still taken, and for so long, that its sender comes to read the answer. */
const mostLingerBytes = 1024 * 1024;
const lingerMs = 1_000;

/** Whether the sender waits for a word before it sends the body; HTTP/1.0 does not know that (RFC 9110, section 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersion === "1.1";

/**
 * Whether a body is still to come that is large, without a known end or waits to be asked for: the connection cannot be
 * used for another request after the answer.
 */
export function isUnread(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding !== undefined) return true;
  if (length === undefined || length === "0") return false;
  return Number(length) > mostBodyBytes || expectsContinue(request);
}

/**
 * Ends an answer whose headers are set. With a body still to come the connection is closed after it, but not at once:
 * what lies unread when a connection is closed makes the other side lose the answer (RFC 9112, section 9.6).
 */
export function endAnswer(request: IncomingMessage, response: ServerResponse, body: string): void {
  const bytes = Buffer.from(body);
  response.setHeader("Content-Length", bytes.length);
  if (!isUnread(request)) {
    response.end(bytes);
    return;
  }
  response.setHeader("Connection", "close");
  response.write(bytes);
  let taken = 0;
  const end = (): void => {
    clearTimeout(late);
    response.end();
  };
  const late = setTimeout(end, lingerMs);
  request
    .on("data", (chunk: Buffer) => {
      taken += chunk.length;
      if (taken > mostLingerBytes) end();
    })
    .once("close", end)
    .once("end", end)
    .resume();
}
