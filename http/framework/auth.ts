import { parse } from "basic-auth";
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

import { OverloadedError, UnavailableError } from "@topicsync/lib/errors";
import { withTimeout } from "@topicsync/lib/concurrency/timeout";
import type { Sessions } from "../../src/users/session.ts";
import { withoutHash, type Authenticate, type AuthenticateAfresh } from "../../src/users/authenticate.ts";
import { keyPrefix } from "../../src/users/key.ts";
import type { CheckKey } from "../../src/users/key-check.ts";
import { ForgedTokenError, InvalidTokenError } from "../../src/users/openid.ts";
import type { ForgeryThrottle, Presented } from "../../src/users/forgery-throttle.ts";
import type { VerifyToken } from "../../src/users/bearer-token.ts";
import { hasRight, hasRightSomewhere, type Right } from "../../src/users/rights.ts";
import { nobody, type User } from "../../src/users/user.ts";
import type { Caller, Handler, RequestContext } from "./context.ts";
import { csrfHeader, readSessionId } from "./cookies.ts";
import { createForbiddenError, HttpError } from "../../src/operations/framework/errors.ts";

/**
 * Returns the caller, synchronously where the credentials are cached; with `afresh`, the cache is not asked.
 * Throws an HttpError, TooManyAttemptsError, OverloadedError or UnavailableError.
 */
export type AuthenticateRequest = (
  request: IncomingMessage,
  client: Pick<RequestContext, "address" | "secure" | "basePath" | "claimedUser" | "credentials">,
  options?: { readonly afresh: boolean },
) => Caller | Promise<Caller>;

const basic = 'Basic realm="topicsync", charset="UTF-8"';
const bearer = 'Bearer realm="topicsync"';
/** A 401 must name a scheme (RFC 9110, section 15.5.2). No browser knows this one and shows a dialog. */
export const sessionChallenge = { "WWW-Authenticate": 'Session realm="topicsync"' } as const;

export interface AuthenticationOptions {
  readonly verify: Authenticate;
  readonly verifyAfresh: AuthenticateAfresh;
  readonly checkKey: CheckKey;
  /** Undefined: tokens of an OpenID provider are not accepted. */
  readonly checkToken: VerifyToken | undefined;
  readonly sessions: Pick<Sessions, "find">;
  readonly forgeries: ForgeryThrottle;
}

/** Creates the authentication by HTTP Basic (RFC 7617), API key or token (RFC 6750), or console session. */
export function createAuthentication({
  verify,
  verifyAfresh,
  checkKey,
  checkToken,
  sessions,
  forgeries,
}: AuthenticationOptions): AuthenticateRequest {
  const schemes = `${basic}, ${bearer}`;

  function toCaller(user: User | undefined): Caller {
    if (user !== undefined) return { user };
    throw createUnauthenticatedError(
      "The user name or the password is wrong, or the user is disabled.",
      schemes,
    );
  }

  async function findSessionCaller(request: IncomingMessage, id: string, address: string): Promise<Caller> {
    const presented = { secret: id, address };
    await forgeries.check(presented);
    const session = await sessions.find(id);
    if (session === undefined) {
      await forgeries.recordFailure(presented);
      throw new HttpError("UNAUTHENTICATED", "The session has ended. Sign in again.", {
        headers: sessionChallenge,
      });
    }
    forgeries.recordSuccess(presented);
    if (!isRead(request.method) && !isEqual(request.headers[csrfHeader], session.csrfToken)) {
      throw new HttpError("UNAUTHENTICATED", "The CSRF token is missing or wrong.", {
        detail: "Requests in a session must send the session's token as X-CSRF-Token.",
        headers: sessionChallenge,
      });
    }
    return { user: session.user, session };
  }

  async function awaitToken(checking: Promise<User>, presented: Presented): Promise<Caller> {
    try {
      const user = await checking;
      forgeries.recordSuccess(presented);
      return { user };
    } catch (error) {
      if (error instanceof ForgedTokenError) await forgeries.recordFailure(presented);
      return rejectToken(error);
    }
  }

  async function awaitKey(checking: Promise<User | undefined>, presented: Presented): Promise<Caller> {
    const user = await checking;
    if (user !== undefined) {
      forgeries.recordSuccess(presented);
      return { user };
    }
    await forgeries.recordFailure(presented);
    throw createUnauthenticatedError(
      "The API key is unknown, deleted or expired, or its maker is disabled.",
      schemes,
    );
  }

  return (request, client, { afresh } = { afresh: false }) => {
    const { address } = client;
    const { authorization } = request.headers;
    const sessionId = authorization === undefined ? readSessionId(request, client) : undefined;
    if (sessionId !== undefined) return findSessionCaller(request, sessionId, address);
    const credentials = parse(authorization ?? "");
    if (credentials !== undefined) {
      client.claimedUser = credentials.name;
      client.credentials = "password";
      const given = { name: credentials.name, password: credentials.pass, address };
      if (afresh) return verifyAfresh(given).then((stored) => toCaller(stored && withoutHash(stored)));
      const user = verify(given);
      return user instanceof Promise ? user.then(toCaller) : toCaller(user);
    }
    const token = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) {
      if (isFromConsole(request))
        throw new HttpError("UNAUTHENTICATED", "Not signed in.", { headers: sessionChallenge });
      throw createUnauthenticatedError("Authentication is required.", schemes);
    }
    const presented = { secret: token, address };
    client.credentials = token.startsWith(keyPrefix) ? "key" : "token";
    if (token.startsWith(keyPrefix)) {
      const user = checkKey(token, () => forgeries.check(presented), { afresh });
      return user instanceof Promise ? awaitKey(user, presented) : { user };
    }
    if (checkToken === undefined)
      throw createUnauthenticatedError("The bearer token is not an API key.", schemes);
    const user = checkToken(token, () => forgeries.check(presented), { afresh });
    return user instanceof Promise ? awaitToken(user, presented) : toCaller(user);
  };
}

/** Gives up credentials that are not checked in time, with an UnavailableError. */
export const limitAuthentication =
  (timeoutMs: number, authenticate: AuthenticateRequest): AuthenticateRequest =>
  (request, client) => {
    const caller = authenticate(request, client);
    return caller instanceof Promise ? withTimeout(timeoutMs, caller) : caller;
  };

/** Creates the middleware that sets the request's caller. */
export const authenticateWith =
  (authenticate: AuthenticateRequest, options?: { readonly afresh: boolean }): Handler =>
  (request, { locals }, next) => {
    const caller = authenticate(request, locals, options);
    if (!(caller instanceof Promise)) {
      locals.caller = caller;
      next();
      return undefined;
    }
    // Express passes a rejection on to the error middleware.
    return caller.then((found) => {
      locals.caller = found;
      next();
    });
  };

/** Creates the middleware that sets the caller of a request with an `Authorization` header. */
export const authenticateIfGiven =
  (authenticate: AuthenticateRequest): Handler =>
  async (request, { locals }, next) => {
    if (request.headers.authorization !== undefined) {
      try {
        locals.caller = await authenticate(request, locals);
      } catch (error) {
        if (!isOutage(error)) throw error;
      }
    }
    next();
  };

/** Whether the credentials cannot be checked at the moment. */
const isOutage = (error: unknown): boolean =>
  error instanceof UnavailableError ||
  error instanceof OverloadedError ||
  (error instanceof HttpError && error.code === "UNAVAILABLE");

/** Creates the middleware that requires a right, and without `perNamespace` one that is not limited. */
export const requireRight =
  (right: Right, perNamespace = false): Handler =>
  (_request, { locals: { caller } }, next) => {
    const user = caller?.user ?? nobody;
    if (!(perNamespace ? hasRightSomewhere : hasRight)(user, right)) throw createForbiddenError(user, right);
    next();
  };

/** On a Basic challenge the browser would show its own dialog instead of the console's sign-in page. */
const isFromConsole = ({ headers }: IncomingMessage): boolean =>
  headers[csrfHeader] !== undefined || headers.accept === "text/event-stream";

const isRead = (method = ""): boolean => method === "GET" || method === "HEAD";

function isEqual(given: string | string[] | undefined, expected: string): boolean {
  if (typeof given !== "string") return false;
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const createUnauthenticatedError = (message: string, schemes: string): HttpError =>
  new HttpError("UNAUTHENTICATED", message, {
    detail: 'Send an "Authorization: Basic …" or "Authorization: Bearer …" header.',
    headers: { "WWW-Authenticate": schemes },
  });

function rejectToken(error: unknown): never {
  if (error instanceof InvalidTokenError) {
    // Only characters that may appear in a quoted string (RFC 6750, section 3).
    const reason = error.message.replaceAll(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, "'");
    throw new HttpError("UNAUTHENTICATED", `The bearer token is invalid: ${reason}.`, {
      detail: "Get a new token from the OpenID provider.",
      headers: {
        "WWW-Authenticate": `${bearer}, error="invalid_token", error_description="${reason}", ${basic}`,
      },
    });
  }
  if (error instanceof UnavailableError) {
    throw new HttpError("UNAVAILABLE", "The OpenID provider's keys are unavailable.", {
      detail: "Try again in 5 seconds.",
      headers: { "Retry-After": "5" },
      cause: error,
    });
  }
  throw error;
}
