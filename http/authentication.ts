import { parse } from "basic-auth";
import type { Request, RequestHandler } from "express";

import type { Authenticate } from "../src/users/credentials.ts";
import type { Role, User } from "../src/users/user.ts";
import { HttpError } from "./errors.ts";

const users = new WeakMap<Request, User>();

/** The user of a request that went through `authenticated`. Throws where none did: a fault in the routes. */
export function userOf(request: Request): User {
  const user = users.get(request);
  if (user === undefined) throw new Error("the route does not authenticate");
  return user;
}

/**
 * Lets only active users with the right password through, and only those with `role` where one is asked for.
 * It runs before the body is read.
 */
export function authenticated(authenticate: Authenticate, role?: Role): RequestHandler {
  return async (request, _response, next) => {
    const credentials = parse(request.headers.authorization ?? "");
    if (credentials === undefined)
      throw unauthenticated("This operation needs a user name and password (HTTP Basic).");
    const user = await authenticate(credentials.name, credentials.pass);
    if (user === undefined)
      throw unauthenticated("The user name or the password is wrong, or the user is not active.");
    if (role !== undefined && !user.roles.includes(role)) {
      throw new HttpError("FORBIDDEN", `The user "${user.name}" may not do this.`, {
        detail: `It needs the role ${role}.`,
      });
    }
    users.set(request, user);
    next();
  };
}

const unauthenticated = (message: string): HttpError =>
  new HttpError("UNAUTHENTICATED", message, {
    detail: 'Send an "Authorization: Basic …" header.',
    headers: { "WWW-Authenticate": 'Basic realm="topicsync", charset="UTF-8"' },
  });
