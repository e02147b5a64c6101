import { parse } from "basic-auth";
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

import { UnavailableError } from "../../src/lib/errors.ts";
import type { Session, Sessions } from "../../src/sessions/session.ts";
import type { Authenticate } from "../../src/users/authenticate.ts";
import { InvalidTokenError } from "../../src/users/openid.ts";
import type { VerifyToken } from "../../src/users/bearer-token.ts";
import type { User } from "../../src/users/user.ts";
import type { IsSecure } from "./address.ts";
import { HttpError } from "./errors.ts";
import { csrfHeader, readSessionId } from "./session-cookie.ts";

/** Who sent a request, and the session that they came with. */
export interface Caller {
  readonly user: User;
  readonly session?: Session;
}

/** Tells who sent a request. */
export interface Authentication {
  /**
   * An active user whose credentials are right, at once where that is remembered, or whose session the request carries;
   * `address` is the caller's. Throws an HttpError, TooManyAttemptsError, OverloadedError and UnavailableError.
   */
  readonly authenticate: (request: IncomingMessage, address: string) => Caller | Promise<Caller>;
}

const basic = 'Basic realm="topicsync", charset="UTF-8"';
/** A 401 names a scheme (RFC 9110, section 15.5.2); this one no browser knows. */
export const ownScheme = { "WWW-Authenticate": 'Session realm="topicsync"' } as const;
const bearer = 'Bearer realm="topicsync"';

export interface AuthenticationOptions {
  readonly verify: Authenticate;
  /** Where the tokens of an OpenID provider are taken. */
  readonly checkToken: VerifyToken | undefined;
  readonly sessions: Pick<Sessions, "find">;
  readonly isSecure: IsSecure;
}

/** Makes the authentication by HTTP Basic (RFC 7617), bearer tokens (RFC 6750) and the console's sessions. */
export function createAuthentication({
  verify,
  checkToken,
  sessions,
  isSecure,
}: AuthenticationOptions): Authentication {
  const schemes = checkToken === undefined ? basic : `${basic}, ${bearer}`;
  const ways = checkToken === undefined ? "(HTTP Basic)" : "(HTTP Basic), or a bearer token";

  function known(user: User | undefined): Caller {
    if (user !== undefined) return { user };
    throw unauthenticated("The user name or the password is wrong, or the user is not active.", schemes);
  }

  async function signedIn(request: IncomingMessage, id: string): Promise<Caller> {
    const session = await sessions.find(id);
    if (session === undefined)
      throw new HttpError("UNAUTHENTICATED", "The session is over. Sign in again.", { headers: ownScheme });
    const { method = "" } = request;
    if (!isReading(method) && !isSame(request.headers[csrfHeader], session.csrfToken)) {
      throw new HttpError("UNAUTHENTICATED", "The request does not come from the console.", {
        detail: "A request with the cookie of a session carries its token as X-CSRF-Token.",
        headers: ownScheme,
      });
    }
    return { user: session.user, session };
  }

  return {
    authenticate(request, address) {
      const { authorization } = request.headers;
      const sessionId = authorization === undefined ? readSessionId(request, isSecure(request)) : undefined;
      if (sessionId !== undefined) return signedIn(request, sessionId);
      const credentials = parse(authorization ?? "");
      if (credentials !== undefined) {
        const user = verify({ name: credentials.name, password: credentials.pass, address });
        return user instanceof Promise ? user.then(known) : known(user);
      }
      const token =
        checkToken === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
      if (checkToken === undefined || token === undefined) {
        if (isFromConsole(request))
          throw new HttpError("UNAUTHENTICATED", "Nobody is signed in.", { headers: ownScheme });
        throw unauthenticated(`This operation needs a user name and password ${ways}.`, schemes);
      }
      const user = checkToken(token);
      return user instanceof Promise ? user.then(known, refuseToken) : known(user);
    },
  };
}

/** Asked for a password by HTTP, a browser would ask for it in its own way, and the page would never hear of it. */
const isFromConsole = ({ headers }: IncomingMessage): boolean =>
  headers[csrfHeader] !== undefined || headers.accept === "text/event-stream";

const isReading = (method: string): boolean => method === "GET" || method === "HEAD";

function isSame(given: string | string[] | undefined, wanted: string): boolean {
  if (typeof given !== "string") return false;
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const unauthenticated = (message: string, schemes: string): HttpError =>
  new HttpError("UNAUTHENTICATED", message, {
    detail: `Send an "Authorization: Basic …" ${schemes === basic ? "" : 'or "Authorization: Bearer …" '}header.`,
    headers: { "WWW-Authenticate": schemes },
  });

function refuseToken(error: unknown): never {
  if (error instanceof InvalidTokenError) {
    // Its characters must fit between quotes (RFC 6750, section 3).
    const why = error.message.replaceAll(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, "'");
    throw new HttpError("UNAUTHENTICATED", `The bearer token is not taken: ${why}.`, {
      detail: "Ask the OpenID provider for another one.",
      headers: {
        "WWW-Authenticate": `${bearer}, error="invalid_token", error_description="${why}", ${basic}`,
      },
    });
  }
  if (error instanceof UnavailableError) {
    throw new HttpError("UNAVAILABLE", "The OpenID provider's keys cannot be had at the moment.", {
      detail: "Try again in 5 seconds.",
      headers: { "Retry-After": "5" },
      cause: error,
    });
  }
  throw error;
}
