import { createCursorFormat } from "@topicsync/lib/cursor";
import { RejectionError } from "@topicsync/lib/errors";
import {
  erasureSchema,
  newPasswordSchema,
  newUserSchema,
  roleChangeSchema,
  userListSchema,
  userQuerySchema,
  userSchema,
  type NewPasswordBody,
  type NewUserBody,
  type RoleChangeBody,
  type UserList,
  type UserQuery,
  type UserView,
} from "../../schemas/user.ts";
import { findRoleChangeFault, type ChangedUser } from "../users/administration.ts";
import { hasRight } from "../users/rights.ts";
import type { User } from "../users/user.ts";
import { bodyRules } from "./framework/body.ts";
import { HttpError, requireFound, requireFreeName } from "./framework/errors.ts";
import { operation, type Operation, type Reply } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";

const cursors = createCursorFormat("users", ["string"]);

const path = "/api/topicsync/v1/users";

/** Shared by the operations on one user. */
const userOperation = {
  method: "POST",
  access: "admin",
  tag: "users",
  parameters: { name: "Name of the user." },
  replies: { 200: { description: "The changed user.", schema: userSchema } },
  rejections: ["NOT_FOUND"],
} as const;

export const listUsers = operation({
  id: "listUsers",
  method: "GET",
  paths: [path],
  access: "admin",
  tag: "users",
  summary: "List users",
  description: "Sorted by name, one page at a time. Passwords are never returned.",
  query: queryRules<UserQuery>(userQuerySchema),
  replies: { 200: { description: "A page of users.", schema: userListSchema } },
  async handle({ query: { prefix, after, limit } }, { users }) {
    const afterName = after === undefined ? undefined : cursors.decode(after)[0];
    const page = await users.findPage({ prefix, afterName, limit });
    const last = page.hasNext ? page.users.at(-1) : undefined;
    const json: UserList = {
      users: page.users.map(toUserView),
      next: last === undefined ? null : cursors.encode([last.name]),
    };
    return { status: 200, json };
  },
});

export const addUser = operation({
  id: "addUser",
  method: "POST",
  paths: [path],
  access: "admin",
  tag: "users",
  summary: "Add a user",
  description: "The user can sign in immediately.",
  body: bodyRules<NewUserBody>(newUserSchema),
  replies: { 201: { description: "The new user.", schema: userSchema } },
  rejections: ["NAME_TAKEN"],
  async handle({ body: { name, password, roles: given = [] } }, { users }) {
    const done = await requireFreeName(users.add({ name, password, roles: given }), name);
    return { ...toReply(done), status: 201 };
  },
});

export const getUser = operation({
  ...userOperation,
  id: "getUser",
  method: "GET",
  paths: [`${path}/{name}`],
  summary: "Get a user",
  description: "Without the password.",
  replies: { 200: { description: "The user.", schema: userSchema } },
  async handle({ parameters: { name = "" } }, { users }) {
    const json: UserView = toUserView(requireFound(await users.find(name), "user", name));
    return { status: 200, json };
  },
});

export const disableUser = operation({
  ...userOperation,
  id: "disableUser",
  paths: [`${path}/{name}/disable`],
  summary: "Disable a user",
  description:
    "Ends the user's sessions immediately; the password is rejected within 30 seconds. You cannot disable yourself, so an administrator always remains.",
  async handle({ parameters: { name = "" }, user }, { users }) {
    if (name === user.name) throw forbidOwnAccount("You cannot disable yourself.");
    return toReply(requireFound(await users.setActive(name, false), "user", name));
  },
});

export const enableUser = operation({
  ...userOperation,
  id: "enableUser",
  paths: [`${path}/{name}/enable`],
  summary: "Enable a user",
  description: "The user can sign in again. Earlier sessions stay ended.",
  handle: async ({ parameters: { name = "" } }, { users }) =>
    toReply(requireFound(await users.setActive(name, true), "user", name)),
});

export const changeRoles = operation({
  ...userOperation,
  id: "changeRoles",
  paths: [`${path}/{name}/roles`],
  summary: "Change a user's roles",
  description:
    "Takes effect immediately for sessions, and within 30 seconds for passwords. You cannot remove your own right `admin`.",
  body: bodyRules<RoleChangeBody>(roleChangeSchema),
  async handle({ parameters: { name = "" }, body: { add = [], remove = [] }, user }, { users }) {
    const fault = findRoleChangeFault({ add, remove });
    if (fault !== undefined)
      throw new RejectionError("SCHEMA_VIOLATION", `The roles were not changed: ${fault}.`);
    const kept = [...user.roles, ...add].filter((one) => !remove.includes(one));
    if (name === user.name && !hasRight({ roles: kept }, "admin"))
      throw forbidOwnAccount("You cannot remove your own right admin.");
    return toReply(requireFound(await users.changeRoles(name, { add, remove }), "user", name));
  },
});

export const setPassword = operation({
  ...userOperation,
  id: "setPassword",
  paths: [`${path}/{name}/password`],
  summary: "Set a user's password",
  description: "Ends the user's sessions immediately; the old password is rejected within 30 seconds.",
  body: bodyRules<NewPasswordBody>(newPasswordSchema),
  handle: async ({ parameters: { name = "" }, body: { password } }, { users }) =>
    toReply(requireFound(await users.setPassword(name, password), "user", name)),
});

export const eraseUser = operation({
  ...userOperation,
  id: "eraseUser",
  method: "DELETE",
  paths: [`${path}/{name}`],
  summary: "Erase a person",
  description:
    "Removes the user, sessions and push tokens, revokes the API keys that the person has made, and replaces the name everywhere else in the database by a pseudonym. It cannot be undone. The person need not be a user: a name that is only known from push tokens, or from OpenID with the prefix `oidc:`, is erased as well. Instances reject the person within 30 seconds; the first response is 202, and the erasure is complete when the request, sent again after `repeatOn`, gets 200. If interrupted, send it again to finish. You cannot erase yourself, so an administrator always remains.",
  parameters: { name: "Name of the person; of users of an OpenID provider with the prefix `oidc:`." },
  replies: {
    200: { description: "The person is erased.", schema: erasureSchema },
    202: { description: "The person is locked out. Send the request again.", schema: erasureSchema },
  },
  async handle({ parameters: { name = "" }, user }, { erase }) {
    if (name === user.name || name === user.maker) throw forbidOwnAccount("You cannot erase yourself.");
    const json = requireFound(await erase(name), "person", name);
    const { complete, nameDigest, pseudonym, keys } = json;
    const details = { nameDigest, pseudonym, keys: keys.map((key) => key.name), complete };
    return { status: complete ? 200 : 202, json, audit: { action: "user.erased", ...details } };
  },
});

const forbidOwnAccount = (message: string): HttpError =>
  new HttpError("FORBIDDEN", message, {
    detail: 'Another user with the right admin can, and so can "topicsync users" on the command line.',
  });

const toUserView = ({ name, roles: given, active }: User): UserView => ({ name, roles: [...given], active });

const toReply = ({ user, event }: ChangedUser): Reply => ({
  status: 200,
  json: toUserView(user),
  audit: event,
});

/** Lists, adds and changes users. */
export const userOperations: readonly Operation[] = [
  listUsers,
  addUser,
  getUser,
  disableUser,
  enableUser,
  changeRoles,
  setPassword,
  eraseUser,
];
