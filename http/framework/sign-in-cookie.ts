import { parseCookie, stringifySetCookie } from "cookie";

/** As long as somebody may take to sign in at the provider. */
const lifetimeSeconds = 10 * 60;

/** The cookie by which a browser that comes back from the OpenID provider is known to be the one that was sent there. */
export interface SignInCookie {
  /** What a `Cookie` header has of it. */
  read(header: string): string | undefined;
  /** `Set-Cookie` for a sign-in that began. */
  set(id: string): string;
  /** `Set-Cookie` that makes the browser forget it. */
  readonly forget: string;
}

/**
 * Makes the cookie. It comes along when the provider sends the browser back, as one of `SameSite=Strict` would not. Over TLS its
 * name says that no other host may set it (RFC 6265bis, section 4.1.3.2): nobody can put their own sign-in in its place.
 */
export function createSignInCookie(secure: boolean): SignInCookie {
  const name = secure ? "__Host-topicsync_sign_in" : "topicsync_sign_in";
  const written = (value: string, maxAge: number): string =>
    stringifySetCookie({ name, value, path: "/", httpOnly: true, sameSite: "lax", secure, maxAge });
  return {
    read: (header) => parseCookie(header)[name],
    set: (id) => written(id, lifetimeSeconds),
    forget: written("", 0),
  };
}
