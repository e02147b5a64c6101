import type { IncomingMessage } from "node:http";

/** A body up to this size is read, or else dropped by Node after the answer, and the connection goes on. */
export const maxBodyBytes = 100 * 1024;

/** So much of a body that nobody wants is still taken, and for so long, that its sender comes to read the answer. */
export const maxLingerBytes = 1024 * 1024;
export const lingerMs = 1_000;

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
  return Number(length) > maxBodyBytes || expectsContinue(request);
}
