import { parseCookie, stringifySetCookie } from "cookie";
import type { IncomingMessage } from "node:http";

import type { RequestContext } from "./context.ts";
import type { Session } from "../../src/users/session.ts";

/** The header that must carry a session's CSRF token unless the request only reads. */
export const csrfHeader = "x-csrf-token";

/** How a browser reaches the service. */
type Client = Pick<RequestContext, "secure" | "basePath">;

/**
 * `__Host-` keeps other hosts and plain connections from setting a cookie (RFC 6265bis, section 4.1.3). It
 * requires `Path=/`; below a path, `__Secure-` keeps at least plain connections from it.
 */
const toName = (name: "session" | "sign_in", { secure, basePath }: Client): string =>
  `${secure ? (basePath === "" ? "__Host-" : "__Secure-") : ""}topicsync_${name}`;

/**
 * The session id that a request carries, if any. Over TLS the plain name is ignored: a sibling host can set
 * it, and so sign a user in to a session of its own.
 */
export function readSessionId({ headers: { cookie } }: IncomingMessage, client: Client): string | undefined {
  return cookie === undefined ? undefined : parseCookie(cookie)[toName("session", client)];
}

const format = (
  name: "session" | "sign_in",
  value: string,
  client: Client,
  more: { readonly sameSite: "strict" | "lax"; readonly expires?: Date; readonly maxAge?: number },
): string =>
  stringifySetCookie({
    name: toName(name, client),
    value,
    path: client.basePath || "/",
    httpOnly: true,
    secure: client.secure,
    ...more,
  });

/** `Set-Cookie` for a new session. Scripts cannot read it and pages of other sites do not send it. */
export const formatSessionCookie = (
  { id, expiresOn: expires }: Pick<Session, "id" | "expiresOn">,
  client: Client,
): string => format("session", id, client, { sameSite: "strict", expires });

export const clearSessionCookie = (client: Client): string =>
  formatSessionCookie({ id: "", expiresOn: new Date(0) }, client);

/** How long signing in at the OpenID provider may take. */
const signInLifetimeSeconds = 10 * 60;

/**
 * Creates the cookie that ties the OpenID callback to the browser that started the sign-in. `SameSite=Lax`,
 * since the provider's redirect would not send a strict one.
 */
export function createSignInCookie(client: Client) {
  const formatSignIn = (id: string, maxAge = signInLifetimeSeconds): string =>
    format("sign_in", id, client, { sameSite: "lax", maxAge });
  return {
    /** Its value in a `Cookie` header. */
    read: (header: string): string | undefined => parseCookie(header)[toName("sign_in", client)],
    format: (id: string): string => formatSignIn(id),
    clear: formatSignIn("", 0),
  };
}
