import { parse } from "basic-auth";
import type { IncomingMessage } from "node:http";

import type { Authenticate } from "../src/users/credentials.ts";
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

/** Makes the authentication by HTTP Basic (RFC 7617). */
export const createAuthentication = (verify: Authenticate): Authentication => ({
  authenticate(request, address) {
    const credentials = parse(request.headers.authorization ?? "");
    if (credentials === undefined)
      throw unauthenticated("This operation needs a user name and password (HTTP Basic).");
    const user = verify({ name: credentials.name, password: credentials.pass, address });
    return user instanceof Promise ? user.then(known) : known(user);
  },
});

function known(user: User | undefined): User {
  if (user !== undefined) return user;
  throw unauthenticated("The user name or the password is wrong, or the user is not active.");
}

const unauthenticated = (message: string): HttpError =>
  new HttpError("UNAUTHENTICATED", message, {
    detail: 'Send an "Authorization: Basic …" header.',
    headers: { "WWW-Authenticate": 'Basic realm="topicsync", charset="UTF-8"' },
  });
