import { parse } from "basic-auth";
import type { IncomingMessage } from "node:http";

import { Unavailable } from "../src/errors.ts";
import type { Authenticate } from "../src/users/credentials.ts";
import { BadToken, type CheckToken } from "../src/users/oidc.ts";
import type { User } from "../src/users/user.ts";
import { HttpError } from "./errors.ts";

/** Tells who sent a request. */
export interface Authentication {
  /**
   * An active user whose credentials are right, at once where that is remembered; `address` is the caller's. Throws an
   * HttpError, TooManyAttempts, Overloaded and Unavailable.
   */
  readonly authenticate: (request: IncomingMessage, address: string) => User | Promise<User>;
}

const basic = 'Basic realm="topicsync", charset="UTF-8"';
const bearer = 'Bearer realm="topicsync"';

/** Makes the authentication by HTTP Basic (RFC 7617), and by bearer tokens (RFC 6750) where `checkToken` is given. */
export function createAuthentication(verify: Authenticate, checkToken?: CheckToken): Authentication {
  const schemes = checkToken === undefined ? basic : `${basic}, ${bearer}`;
  const ways = checkToken === undefined ? "(HTTP Basic)" : "(HTTP Basic), or a bearer token";

  function known(user: User | undefined): User {
    if (user !== undefined) return user;
    throw unauthenticated("The user name or the password is wrong, or the user is not active.", schemes);
  }

  return {
    authenticate(request, address) {
      const { authorization = "" } = request.headers;
      const credentials = parse(authorization);
      if (credentials !== undefined) {
        const user = verify({ name: credentials.name, password: credentials.pass, address });
        return user instanceof Promise ? user.then(known) : known(user);
      }
      const token = checkToken === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1];
      if (checkToken === undefined || token === undefined)
        throw unauthenticated(`This operation needs a user name and password ${ways}.`, schemes);
      const user = checkToken(token);
      return user instanceof Promise ? user.catch(refuseToken) : user;
    },
  };
}

const unauthenticated = (message: string, schemes: string): HttpError =>
  new HttpError("UNAUTHENTICATED", message, {
    detail: `Send an "Authorization: Basic …" ${schemes === basic ? "" : 'or "Authorization: Bearer …" '}header.`,
    headers: { "WWW-Authenticate": schemes },
  });

function refuseToken(error: unknown): never {
  if (error instanceof BadToken) {
    // Its characters must fit between quotes (RFC 6750, section 3).
    const why = error.message.replaceAll(/[^\x20-\x21\x23-\x5B\x5D-\x7E]/g, "'");
    throw new HttpError("UNAUTHENTICATED", `The bearer token is not taken: ${why}.`, {
      detail: "Ask the OpenID provider for another one.",
      headers: {
        "WWW-Authenticate": `${bearer}, error="invalid_token", error_description="${why}", ${basic}`,
      },
    });
  }
  if (error instanceof Unavailable) {
    throw new HttpError("UNAVAILABLE", "The OpenID provider's keys cannot be had at the moment.", {
      detail: "Try again in 5 seconds.",
      headers: { "Retry-After": "5" },
      cause: error,
    });
  }
  throw error;
}
