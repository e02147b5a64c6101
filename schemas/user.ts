import type { FromSchema } from "json-schema-to-ts";

import { pageCursor, pageSize } from "./query.ts";
import { grantSchema } from "./rights.ts";
import { roles } from "./roles.ts";

/** HTTP Basic separates name and password by a colon and forbids control characters (RFC 7617, section 2). */
export const userNamePattern = "^[^:\\u0000-\\u001f\\u007f-\\u009f]{1,256}$";

/** `userNamePattern` in words. */
export const userNameRule = "1 to 256 characters, no colon and no control characters";

/** The prefix of the names of users who sign in with OpenID Connect. They have no password here. */
export const openIdPrefix = "oidc:";

/** For new passwords; existing shorter ones stay valid. */
export const minPasswordLength = 8;

const password = { type: "string", format: "text", minLength: minPasswordLength, maxLength: 1024 } as const;

/** A user, without the password. */
export const userSchema = {
  $id: "user",
  type: "object",
  additionalProperties: false,
  required: ["name", "roles", "active"],
  properties: {
    name: { type: "string" },
    roles: { type: "array", items: { type: "string" }, description: "Rights and roles." },
    active: { type: "boolean", description: "Whether the user may log in." },
  },
} as const;

/** The query of `GET /api/topicsync/v1/users`. */
export const userQuerySchema = {
  $id: "user-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    prefix: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 256,
      description: "Only users whose name starts with this.",
    },
    limit: pageSize(1_000, 100),
    after: pageCursor,
  },
} as const;

export type UserQuery = FromSchema<typeof userQuerySchema>;

/** The response body. */
export const userListSchema = {
  $id: "user-list",
  type: "object",
  additionalProperties: false,
  required: ["users", "next"],
  properties: {
    users: { type: "array", items: userSchema, description: "Sorted by name." },
    next: { type: ["string", "null"], description: "Cursor of the next page; null on the last page." },
  },
} as const;

export type UserList = FromSchema<typeof userListSchema>;
export type UserView = FromSchema<typeof userSchema>;

/** The body of `POST /api/topicsync/v1/users`. */
export const newUserSchema = {
  $id: "new-user",
  type: "object",
  additionalProperties: false,
  required: ["name", "password"],
  properties: {
    name: { type: "string", format: "text", pattern: userNamePattern, expected: userNameRule },
    password,
    roles: {
      type: "array",
      items: grantSchema,
      maxItems: 100,
      description: "Rights and roles. Default: none.",
    },
  },
  examples: [{ name: "ann", password: "a long sentence that ann knows", roles: [roles.pushAdmin] }],
} as const;

export type NewUserBody = FromSchema<typeof newUserSchema>;

/** The body of `POST /api/topicsync/v1/users/{name}/roles`. */
export const roleChangeSchema = {
  $id: "role-change",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    add: { type: "array", items: grantSchema, maxItems: 100, description: "Rights and roles to grant." },
    remove: {
      type: "array",
      // A record may contain an unknown role, which must be removable.
      items: { type: "string", format: "text" },
      description: "Rights and roles to revoke.",
    },
  },
  examples: [{ add: [roles.eventManagement], remove: [roles.pushAdmin] }],
} as const;

export type RoleChangeBody = FromSchema<typeof roleChangeSchema>;

/** The body of `POST /api/topicsync/v1/users/{name}/password`. */
export const newPasswordSchema = {
  $id: "new-password",
  type: "object",
  additionalProperties: false,
  required: ["password"],
  properties: { password },
} as const;

export type NewPasswordBody = FromSchema<typeof newPasswordSchema>;
