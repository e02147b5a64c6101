import {
  credentialsSchema,
  sessionSchema,
  type CredentialsBody,
  type SessionView,
} from "../../schemas/session.ts";
import type { Session, Sessions } from "../../src/sessions/session.ts";
import type { Authenticate } from "../../src/users/authenticate.ts";
import type { User } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { sessionChallenge } from "../framework/auth.ts";
import { HttpError } from "../framework/errors.ts";
import { noStore } from "../framework/headers.ts";
import { operation, type Operation } from "../framework/operation.ts";
import { clearSessionCookie, formatSessionCookie } from "../framework/cookies.ts";

const checkCredentials = createValidator<CredentialsBody>(credentialsSchema);

const path = "/api/topicsync/v1/session";

/** Signs in and out on the console, and returns the current user. */
export const sessionOperations = (sessions: Sessions, verify: Authenticate): readonly Operation[] => [
  operation<CredentialsBody>({
    id: "signIn",
    method: "POST",
    paths: [path],
    access: "anybody",
    tag: "console",
    summary: "Sign in",
    description: "Starts a console session and sets the session cookie.",
    body: { schema: credentialsSchema, check: checkCredentials, wrongTypeStatus: 415 },
    replies: { 200: { description: "The session is started.", schema: sessionSchema } },
    rejections: ["UNAUTHENTICATED", "TOO_MANY_ATTEMPTS", "OVERLOADED", "UNAVAILABLE"],
    async handle({ body, address, secure }) {
      const user = await verify({ name: body.user, password: body.password, address });
      const session = user && (await sessions.begin(user.name));
      if (session === undefined)
        throw new HttpError("UNAUTHENTICATED", wrongCredentials, { headers: sessionChallenge });
      return {
        status: 200,
        json: toSessionView(session.user, session),
        headers: { ...noStore, "Set-Cookie": formatSessionCookie(session, secure) },
        audit: { action: "session.began", user: session.user.name },
        by: session.user,
      };
    },
  }),
  operation({
    id: "getSession",
    method: "GET",
    paths: [path],
    access: "user",
    tag: "console",
    summary: "Get the current session",
    description: "The signed-in user and their roles.",
    replies: { 200: { description: "The current session.", schema: sessionSchema } },
    handle: ({ user, session }) => ({ status: 200, json: toSessionView(user, session), headers: noStore }),
  }),
  operation({
    id: "signOut",
    method: "POST",
    paths: [`${path}/end`],
    access: "user",
    tag: "console",
    summary: "Sign out",
    description: "Ends the current session on all instances immediately.",
    replies: { 200: { description: "The session is ended." } },
    async handle({ user, session, secure }) {
      if (session === undefined) return { status: 200 };
      await sessions.end(session);
      return {
        status: 200,
        headers: { ...noStore, "Set-Cookie": clearSessionCookie(secure) },
        audit: { action: "session.ended", user: user.name },
      };
    },
  }),
];

const wrongCredentials = "The user name or the password is wrong, or the user is not active.";

const toSessionView = ({ name, roles }: User, session?: Session): SessionView => ({
  user: name,
  roles: [...roles],
  csrfToken: session?.csrfToken ?? null,
  expiresOn: session?.expiresOn.toISOString() ?? null,
});
