import { HttpError } from "./errors.ts";
import type { Exchange } from "./exchange.ts";
import { findMessageFault } from "./message.ts";
import { expectsContinue } from "./unread.ts";

/** The longest path that means anything has three names in it. */
export const maxUrlLength = 2_048;
const maxHeaders = 100;
/** Node leaves out what is beyond its own limit without a word: one more than ours lets us see that there are too many. */
export const maxHeadersRead = maxHeaders + 1;

/** Refuses what no operation has to look at. Throws an HttpError. */
export function guard({ request, response }: Exchange): void {
  if ((request.url ?? "").length > maxUrlLength)
    throw new HttpError("URI_TOO_LONG", `The URL has more than ${maxUrlLength} characters.`);
  if (request.rawHeaders.length > 2 * maxHeaders)
    throw new HttpError("HEADERS_TOO_LARGE", `The request has more than ${maxHeaders} headers.`);
  const fault = findMessageFault(request);
  if (fault !== undefined) {
    response.shouldKeepAlive = false;
    throw new HttpError("BAD_REQUEST", fault);
  }
  // Node's parser drops what follows on the connection: it expects the protocol that is asked for.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
  if (expectsContinue(request) && request.headers.expect?.toLowerCase() !== "100-continue")
    throw new HttpError("EXPECTATION_FAILED", "Only 100-continue can be expected.");
}
