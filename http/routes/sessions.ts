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
import { toSessionKey, type Session } from "../../src/users/session.ts";
import { listRights } from "../../src/users/rights.ts";
import type { User } from "../../src/users/user.ts";
import { sessionChallenge } from "../framework/auth.ts";
import { bodyRules } from "../../src/operations/framework/body.ts";
import { HttpError } from "../../src/operations/framework/errors.ts";
import { operation, type Operation, type Reply } from "../../src/operations/framework/operation.ts";
import type { OperationServices } from "../../src/operations/framework/services.ts";
import { clearSessionCookie, formatSessionCookie } from "../framework/cookies.ts";

const path = "/api/topicsync/v1/session";
const listPath = "/api/topicsync/v1/sessions";

const wrongCredentials = "The user name or the password is wrong, or the user is not active.";

const signIn = operation({
  id: "signIn",
  method: "POST",
  paths: [path],
  access: "anybody",
  tag: "console",
  summary: "Sign in",
  description: "Starts a console session and sets the session cookie.",
  // Strangers send it: 10,000 of them at once must not fill the memory.
  body: bodyRules<CredentialsBody>(credentialsSchema, { maxBytes: 4_096 }),
  replies: { 200: { description: "The session is started.", schema: sessionSchema } },
  rejections: ["UNAUTHENTICATED", "TOO_MANY_ATTEMPTS", "OVERLOADED", "UNAVAILABLE"],
  async handle({ body, address, claimUser, ...client }, { sessions, verifyAfresh }) {
    claimUser(body.user);
    const user = await verifyAfresh({ name: body.user, password: body.password, address });
    const session = user && (await sessions.begin(user));
    if (session === undefined)
      throw new HttpError("UNAUTHENTICATED", wrongCredentials, { headers: sessionChallenge });
    return {
      status: 200,
      json: toSessionView(session.user, session),
      headers: { "Set-Cookie": formatSessionCookie(session, client) },
      audit: { action: "session.began", user: session.user.name },
      by: session.user,
    };
  },
});

const getSession = operation({
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

const signOut = operation({
  id: "signOut",
  method: "POST",
  paths: [`${path}/end`],
  access: "user",
  tag: "console",
  summary: "Sign out",
  description: "Ends the current session on all instances immediately.",
  replies: { 200: { description: "The session is ended." } },
  async handle({ user, session, ...client }, { sessions }) {
    if (session === undefined) return { status: 200 };
    await sessions.end(session);
    return {
      status: 200,
      headers: { "Set-Cookie": clearSessionCookie(client) },
      audit: { action: "session.ended", user: user.name },
    };
  },
});

const listSessions = operation({
  id: "listSessions",
  method: "GET",
  paths: [listPath],
  access: "user",
  tag: "console",
  summary: "List your sessions",
  description: "The caller's open sessions on the console. At most 20 stay open.",
  replies: { 200: { description: "The sessions.", schema: sessionListSchema } },
  handle: ({ user, session }, services) => list(user.name, services, session),
});

const endSession = operation({
  id: "endSession",
  method: "DELETE",
  paths: [`${listPath}/{id}`],
  access: "user",
  tag: "console",
  summary: "End one of your sessions",
  description: "Ends it on all instances immediately.",
  parameters: { id: "The `id` of the session in the list." },
  replies: { 204: { description: "The session is ended." } },
  rejections: ["NOT_FOUND"],
  async handle({ parameters: { id = "" }, user }, { sessions }) {
    if (!(await sessions.endOne(user.name, id)))
      throw new HttpError("NOT_FOUND", "You have no session with this id.");
    return { status: 204, audit: { action: "session.ended", user: user.name } };
  },
});

const endOtherSessions = operation({
  id: "endOtherSessions",
  method: "DELETE",
  paths: [listPath],
  access: "user",
  tag: "console",
  summary: "End your other sessions",
  description: "Ends all of the caller's sessions except the one that the request was sent in, if any.",
  replies: { 204: { description: "The sessions are ended." } },
  handle: ({ user, session }, services) => endAll(user.name, services, session),
});

const userSessionsPath = "/api/topicsync/v1/users/{name}/sessions";
const ofUser = {
  paths: [userSessionsPath],
  access: "admin",
  tag: "users",
  parameters: { name: "Name of the user; of users of an OpenID provider with the prefix `oidc:`." },
} as const;

const listUserSessions = operation({
  ...ofUser,
  id: "listUserSessions",
  method: "GET",
  summary: "List a user's sessions",
  description: "The user's open sessions on the console.",
  replies: { 200: { description: "The sessions.", schema: sessionListSchema } },
  handle: ({ parameters: { name = "" }, session }, services) => list(name, services, session),
});

const endUserSessions = operation({
  ...ofUser,
  id: "endUserSessions",
  method: "DELETE",
  summary: "End a user's sessions",
  description: "Ends all of the user's sessions on all instances immediately. The user can sign in again.",
  replies: { 204: { description: "The user has no sessions." } },
  handle: ({ parameters: { name = "" } }, services) => endAll(name, services),
});

const changeOwnPassword = operation({
  id: "changeOwnPassword",
  method: "POST",
  paths: [`${path}/password`],
  access: "user",
  tag: "console",
  summary: "Change your password",
  description:
    "Ends all of the caller's sessions, and starts a new one if the request was sent in a session; the old password is rejected within 30 seconds. A wrong current password counts as a failed login. Not for users of an OpenID provider and for API keys.",
  body: bodyRules<OwnPasswordBody>(ownPasswordSchema),
  replies: { 200: { description: "The new session, or the caller without one.", schema: sessionSchema } },
  async handle(
    { body: { currentPassword, password }, user: { name }, session, address, ...client },
    { users, sessions, verifyAfresh },
  ) {
    const verified = await verifyAfresh({ name, password: currentPassword, address });
    const changed = verified && (await users.setPassword(name, password, verified));
    if (changed === undefined) throw new HttpError("FORBIDDEN", "The current password is wrong.");
    const { user, passwordHash } = changed;
    // Undefined as well if the user was disabled or got another password in the meantime.
    const next = session && (await sessions.begin({ ...user, passwordHash }));
    return {
      status: 200,
      json: toSessionView(user, next),
      headers: {
        "Set-Cookie": next === undefined ? clearSessionCookie(client) : formatSessionCookie(next, client),
      },
      audit: changed.event,
    };
  },
});

/** Lists a user's sessions; `current` is the one that the request was sent in, if any. */
async function list(name: string, { sessions }: OperationServices, current?: Session): Promise<Reply> {
  const key = current && toSessionKey(current);
  const open = (await sessions.list(name)).map(({ key: id, startedOn, expiresOn }) => ({
    id,
    startedOn: startedOn.toISOString(),
    expiresOn: expiresOn.toISOString(),
    current: id === key,
  }));
  return { status: 200, json: { sessions: open } satisfies SessionList };
}

/** Ends all sessions of a user but one. */
async function endAll(name: string, { sessions }: OperationServices, kept?: Session): Promise<Reply> {
  await sessions.endAll(name, kept);
  return { status: 204, audit: { action: "sessions.ended", user: name } };
}

const toSessionView = (user: User, session?: Session): SessionView => ({
  user: user.name,
  roles: [...user.roles],
  rights: listRights(user),
  csrfToken: session?.csrfToken ?? null,
  expiresOn: session?.expiresOn.toISOString() ?? null,
});

/** Signs in and out on the console, returns the current user, and lists and ends sessions. */
export const sessionOperations: readonly Operation[] = [
  signIn,
  getSession,
  signOut,
  listSessions,
  endSession,
  endOtherSessions,
  listUserSessions,
  endUserSessions,
  changeOwnPassword,
];
