import type { FromSchema } from "json-schema-to-ts";

import { grants, roles } from "./rights.ts";
import { page, query } from "./query.ts";
import {
  count,
  flag,
  input,
  limited,
  list,
  named,
  nullableText,
  nullableTime,
  objects,
  text,
} from "./shapes.ts";

/** The prefix of the names of users who sign in with OpenID Connect. They have no password here. */
export const openIdPrefix = "oidc:";

/** For new passwords; existing shorter ones stay valid. */
export const minPasswordLength = 8;

const password = { type: "string", format: "text", minLength: minPasswordLength, maxLength: 1024 } as const;

/** A user, without the password. */
export const userSchema = named("user", {
  name: text(),
  roles: list(text(), "Rights and roles."),
  active: flag("Whether the user may log in."),
});

/** The query of `GET /api/topicsync/v1/users`. */
export const userQuerySchema = query("user-query", {
  prefix: limited(256, "Only users whose name starts with this."),
  ...page(1_000, 100),
});

export type UserQuery = FromSchema<typeof userQuerySchema>;

/** The response body. */
export const userListSchema = named("user-list", {
  users: list(userSchema, "Sorted by name."),
  next: nullableText("Cursor of the next page; null on the last page."),
});

export type UserList = FromSchema<typeof userListSchema>;
export type UserView = FromSchema<typeof userSchema>;

/** The body of `POST /api/topicsync/v1/users`. */
export const newUserSchema = {
  ...named("new-user", {
    // HTTP Basic separates name and password by a colon and forbids control characters (RFC 7617, section 2).
    name: {
      ...input(),
      pattern: "^[^:\\u0000-\\u001f\\u007f-\\u009f]{1,256}$",
      expected: "1 to 256 characters, no colon and no control characters",
    },
    password,
    "roles?": grants("Rights and roles. Default: none."),
  }),
  examples: [{ name: "ann", password: "a long sentence that ann knows", roles: [roles.pushAdmin] }],
} as const;

export type NewUserBody = FromSchema<typeof newUserSchema>;

/** The body of `POST /api/topicsync/v1/users/{name}/roles`. */
export const roleChangeSchema = {
  ...named("role-change", {
    "add?": grants("Rights and roles to grant."),
    // A record may contain an unknown role, which must be removable.
    "remove?": list(input(), "Rights and roles to revoke."),
  }),
  examples: [{ add: [roles.eventManagement], remove: [roles.pushAdmin] }],
} as const;

export type RoleChangeBody = FromSchema<typeof roleChangeSchema>;

/** The body of `POST /api/topicsync/v1/users/{name}/password`. */
export const newPasswordSchema = named("new-password", { password });

export type NewPasswordBody = FromSchema<typeof newPasswordSchema>;

const erasedKeyMembers = { id: text(), name: text() } as const;

/** The response of `DELETE /api/topicsync/v1/users/{name}`. */
export const erasureSchema = named("erasure", {
  complete: flag("Whether the name is nowhere in the database any more."),
  repeatOn: nullableTime("When to send the request again; null once the erasure is complete."),
  pseudonym: text("What the name was replaced by. It is random."),
  nameDigest: text("A keyed digest of the name, as in the audit log."),
  keys: objects("The API keys that the person had made. They are revoked.", erasedKeyMembers),
  deletedTokens: count("How many push tokens this request has deleted."),
});

export type Erasure = FromSchema<typeof erasureSchema>;
export type ErasedKey = Erasure["keys"][number];
