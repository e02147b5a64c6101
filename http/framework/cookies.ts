import { parseCookie, stringifySetCookie } from "cookie";
import type { IncomingMessage } from "node:http";

import type { Session } from "../../src/sessions/session.ts";

/**
 * The cookie that carries a session. Over TLS its name says that no other host and no plain connection may set it (RFC 6265bis,
 * section 4.1.3.2).
 */
const names = { plain: "topicsync_session", secure: "__Host-topicsync_session" } as const;

const nameOf = (secure: boolean): string => (secure ? names.secure : names.plain);

/** The header that goes with each request that changes something; see Session. */
export const csrfHeader = "x-csrf-token";

/**
 * The session's id that a request carries, if any. Over TLS the plain name does not count: a sibling host can set it, and so
 * sign somebody in under its own session.
 */
export function readSessionId({ headers: { cookie } }: IncomingMessage, secure: boolean): string | undefined {
  return cookie === undefined ? undefined : parseCookie(cookie)[nameOf(secure)];
}

/** `Set-Cookie` for a session that began. No script can read it, and no page of another site sends it. */
export const formatSessionCookie = ({ id, expiresOn }: Session, secure: boolean): string =>
  setCookie(id, secure, expiresOn);

/** `Set-Cookie` that makes the browser forget it. */
export const clearSessionCookie = (secure: boolean): string => setCookie("", secure, new Date(0));

const setCookie = (value: string, secure: boolean, expires: Date): string =>
  stringifySetCookie({
    name: nameOf(secure),
    value,
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure,
    expires,
  });
