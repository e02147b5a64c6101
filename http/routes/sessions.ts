import {
  credentialsSchema,
  ownPasswordSchema,
  sessionListSchema,
  sessionSchema,
  type CredentialsBody,
  type OwnPasswordBody,
  type SessionList,
  type SessionView,
} from "../../schemas/session.ts";
import { toSessionKey, type Session, type Sessions } from "../../src/sessions/session.ts";
import type { UserAdministration } from "../../src/users/administration.ts";
import type { Authenticate } from "../../src/users/authenticate.ts";
import type { User } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { sessionChallenge } from "../framework/auth.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, type Operation } from "../framework/operation.ts";
import { clearSessionCookie, formatSessionCookie } from "../framework/cookies.ts";

const checkCredentials = createValidator<CredentialsBody>(credentialsSchema);

const checkOwnPassword = createValidator<OwnPasswordBody>(ownPasswordSchema);

const path = "/api/topicsync/v1/session";

const wrongCredentials = "The user name or the password is wrong, or the user is not active.";

interface SessionServices {
  readonly sessions: Sessions;
  readonly verify: Authenticate;
  readonly users: Pick<UserAdministration, "setPassword">;
}

const signIn = ({ sessions, verify }: SessionServices): Operation =>
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
      if (session === undefined) {
        return {
          status: 401,
          audit: { action: "session.rejected", user: body.user },
          failure: new HttpError("UNAUTHENTICATED", wrongCredentials, { headers: sessionChallenge }),
        };
      }
      return {
        status: 200,
        json: toSessionView(session.user, session),
        headers: { "Set-Cookie": formatSessionCookie(session, secure) },
        audit: { action: "session.began", user: session.user.name },
        by: session.user,
      };
    },
  });

const getSession: Operation = operation({
  id: "getSession",
  method: "GET",
  paths: [path],
  access: "user",
  tag: "console",
  summary: "Get the current session",
  description: "The signed-in user and their roles.",
  replies: { 200: { description: "The current session.", schema: sessionSchema } },
  handle: ({ user, session }) => ({ status: 200, json: toSessionView(user, session) }),
});

const signOut = ({ sessions }: SessionServices): Operation =>
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
        headers: { "Set-Cookie": clearSessionCookie(secure) },
        audit: { action: "session.ended", user: user.name },
      };
    },
  });

const listSessions = ({ sessions }: SessionServices): Operation =>
  operation({
    id: "listSessions",
    method: "GET",
    paths: [`${path}/list`],
    access: "user",
    tag: "console",
    summary: "List your sessions",
    description: "The caller's open sessions on the console. At most 20 stay open.",
    replies: { 200: { description: "The sessions.", schema: sessionListSchema } },
    async handle({ user, session }) {
      const current = session && toSessionKey(session);
      const open = (await sessions.list(user.name)).map(({ key, startedOn, expiresOn }) => ({
        id: key,
        startedOn: startedOn.toISOString(),
        expiresOn: expiresOn.toISOString(),
        current: key === current,
      }));
      return { status: 200, json: { sessions: open } satisfies SessionList };
    },
  });

const endSession = ({ sessions }: SessionServices): Operation =>
  operation({
    id: "endSession",
    method: "POST",
    paths: [`${path}/list/{id}/end`],
    access: "user",
    tag: "console",
    summary: "End one of your sessions",
    description: "Ends it on all instances immediately.",
    parameters: { id: "The `id` of the session in the list." },
    replies: { 200: { description: "The session is ended." } },
    rejections: ["NOT_FOUND"],
    async handle({ parameters: { id = "" }, user }) {
      if (!(await sessions.endOne(user.name, id)))
        throw new HttpError("NOT_FOUND", "You have no session with this id.");
      return { status: 200, audit: { action: "session.ended", user: user.name } };
    },
  });

const changeOwnPassword = ({ users, verify }: SessionServices): Operation =>
  operation<OwnPasswordBody>({
    id: "changeOwnPassword",
    method: "POST",
    paths: [`${path}/password`],
    access: "user",
    tag: "console",
    summary: "Change your password",
    description:
      "Ends all of the caller's sessions; the old password is rejected within 30 seconds. A wrong current password counts as a failed login. Not for users of an OpenID provider.",
    body: { schema: ownPasswordSchema, check: checkOwnPassword, wrongTypeStatus: 415 },
    replies: { 200: { description: "The password is changed." } },
    async handle({ body: { currentPassword, password }, user: { name }, address, secure }) {
      const user = await verify({ name, password: currentPassword, address });
      const changed = user && (await users.setPassword(user.name, password));
      if (changed === undefined) throw new HttpError("FORBIDDEN", "The current password is wrong.");
      return {
        status: 200,
        headers: { "Set-Cookie": clearSessionCookie(secure) },
        audit: changed.event,
      };
    },
  });

const toSessionView = ({ name, roles }: User, session?: Session): SessionView => ({
  user: name,
  roles: [...roles],
  csrfToken: session?.csrfToken ?? null,
  expiresOn: session?.expiresOn.toISOString() ?? null,
});

/** Signs in and out on the console, and returns the current user. */
export const sessionOperations = (services: SessionServices): readonly Operation[] => [
  signIn(services),
  getSession,
  signOut(services),
  listSessions(services),
  endSession(services),
  changeOwnPassword(services),
];
