import { parseCookie, stringifySetCookie } from "cookie";
import type { IncomingMessage } from "node:http";

import type { Session } from "../../src/users/session.ts";

/** The header that must carry a session's CSRF token unless the request only reads. */
export const csrfHeader = "x-csrf-token";

/** `__Host-` keeps other hosts and plain connections from setting a cookie (RFC 6265bis, section 4.1.3.2). */
const toName = (name: "session" | "sign_in", secure: boolean): string =>
  `${secure ? "__Host-" : ""}topicsync_${name}`;

/**
 * The session id that a request carries, if any. Over TLS the plain name is ignored: a sibling host can set
 * it, and so sign a user in to a session of its own.
 */
export function readSessionId({ headers: { cookie } }: IncomingMessage, secure: boolean): string | undefined {
  return cookie === undefined ? undefined : parseCookie(cookie)[toName("session", secure)];
}

/** `Set-Cookie` for a new session. Scripts cannot read it and pages of other sites do not send it. */
export const formatSessionCookie = ({ id, expiresOn }: Session, secure: boolean): string =>
  formatSession(id, secure, expiresOn);

export const clearSessionCookie = (secure: boolean): string => formatSession("", secure, new Date(0));

const formatSession = (value: string, secure: boolean, expires: Date): string =>
  stringifySetCookie({
    name: toName("session", secure),
    value,
    path: "/",
    httpOnly: true,
    sameSite: "strict",
    secure,
    expires,
  });

/** How long signing in at the OpenID provider may take. */
const signInLifetimeSeconds = 10 * 60;

/** The cookie that ties the OpenID callback to the browser that started the sign-in. */
interface SignInCookie {
  /** Its value in a `Cookie` header. */
  read(header: string): string | undefined;
  /** `Set-Cookie` for a sign-in that starts. */
  format(id: string): string;
  /** `Set-Cookie` that removes it. */
  readonly clear: string;
}

/** Creates the cookie. `SameSite=Lax`, since the provider's redirect would not send a strict one. */
export function createSignInCookie(secure: boolean): SignInCookie {
  const name = toName("sign_in", secure);
  const format = (value: string, maxAge: number): string =>
    stringifySetCookie({ name, value, path: "/", httpOnly: true, sameSite: "lax", secure, maxAge });
  return {
    read: (header) => parseCookie(header)[name],
    format: (id) => format(id, signInLifetimeSeconds),
    clear: format("", 0),
  };
}
