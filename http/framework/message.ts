import type { IncomingMessage } from "node:http";

/** A host, as it may stand in a URL, and a port (RFC 3986, section 3.2.2); empty where there is none. */
const hostAndPort = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;
/** The last Host header that was a good one: nearly all are the same. */
let goodHost: string | undefined;

function isHost(text: string): boolean {
  if (text === goodHost) return true;
  if (!hostAndPort.test(text)) return false;
  goodHost = text;
  return true;
}

const absolute = /^https?:\/\/([^/?#]+)(.*)$/is;

/**
 * Why a request is none that RFC 9112 allows, where Node's parser lets it pass: what one program takes for the end of a
 * request and another does not lets requests be hidden in requests. Undefined for a good one.
 */
export function findMessageFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  // Node reads HTTP/0.9 and the first line of HTTP/2 as well.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "Only HTTP/1.1 and HTTP/1.0 are understood.";
  const { host, "transfer-encoding": coding } = headers;
  if (coding !== undefined) {
    // Section 6.1.
    if (httpVersion === "1.0") return "HTTP/1.0 has no Transfer-Encoding.";
    if (coding.toLowerCase() !== "chunked") return "Only the Transfer-Encoding chunked is understood.";
  }
  // Section 3.2.
  if (host === undefined) return httpVersion === "1.1" ? "The request has no Host header." : undefined;
  if (!isHost(host)) return "The Host header names no host.";
  return isGivenTwice("host", rawHeaders) ? "The request has more than one Host header." : undefined;
}

/** Node keeps the first of them and says nothing. */
function isGivenTwice(header: string, rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === header.length && name.toLowerCase() === header) count += 1;
  }
  return count > 1;
}

/**
 * The path and query of a request's target, which may be a whole URL (RFC 9112, section 3.2.2). What is neither becomes a path
 * that there is not: Express would answer what it cannot read in its own way.
 */
export function getPath(target: string): string {
  if (target.startsWith("/")) return target;
  const [, authority = "", rest = ""] = absolute.exec(target) ?? [];
  if (authority === "" || !hostAndPort.test(authority)) return `/${target}`;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
