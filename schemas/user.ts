import type { FromSchema } from "json-schema-to-ts";

import { roles } from "./roles.ts";

/** HTTP Basic separates name and password by a colon, and allows no control characters (RFC 7617, section 2). */
export const userNamePattern = "^[^:\\u0000-\\u001f\\u007f-\\u009f]{1,256}$";

/** What `userNamePattern` wants, in words. */
export const userNameRule =
  "a name of 1 to 256 characters, without a colon (HTTP Basic separates by it) and without control characters";

/** Of new passwords; users who have a shorter one keep it. */
export const minPasswordLength = 8;

const password = { type: "string", format: "text", minLength: minPasswordLength, maxLength: 1024 } as const;
const knownRole = { enum: [roles.eventManagement, roles.pushAdmin, roles.admin] } as const;

/** A user, without anything of the password. */
export const userSchema = {
  $id: "user",
  type: "object",
  additionalProperties: false,
  required: ["name", "roles", "active"],
  properties: {
    name: { type: "string" },
    roles: { type: "array", items: { type: "string" } },
    active: { type: "boolean", description: "Whether the user is let in." },
  },
} as const;

/** The query of `GET /api/topicsync/v1/users`: texts, as they stand in a URL. */
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
      description: "Only those whose name begins with this.",
    },
    limit: {
      type: "string",
      pattern: "^(?:[1-9][0-9]{0,2}|1000)$",
      expected: "a whole number from 1 to 1000",
      default: "100",
      description: "How many users a page has at most, 1 to 1000.",
    },
    after: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 256,
      description: "The page behind this name: the `next` of the one before.",
    },
  },
} as const;

export type UserQueryTexts = FromSchema<typeof userQuerySchema>;

/** The answer to it. */
export const userListSchema = {
  $id: "user-list",
  type: "object",
  additionalProperties: false,
  required: ["users", "next"],
  properties: {
    users: { type: "array", items: userSchema, description: "By name." },
    next: { type: ["string", "null"], description: "Where the next page begins; null behind the last." },
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
    roles: { type: "array", items: knownRole, description: "None where it is absent." },
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
    add: { type: "array", items: knownRole, description: "Roles to give." },
    remove: {
      type: "array",
      // A role that nobody knows may stand in a record, and must be able to go.
      items: { type: "string", format: "text" },
      description: "Roles to take away.",
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
