import type { FromSchema } from "json-schema-to-ts";

import { grantSchema } from "./rights.ts";
import { pageCursor, pageSize } from "./query.ts";

const time = { type: "string", format: "date-time" } as const;

/** A name that is also part of a user's name, `key:NAME`. */
export const keyNamePattern = "^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$";

/** `keyNamePattern` in words. */
export const keyNameRule =
  "1 to 100 letters, digits, dots, hyphens and underscores, with a letter or digit at both ends";

const keyName = { type: "string", pattern: keyNamePattern, expected: keyNameRule } as const;

/** A key, without its secret. */
export const keyViewSchema = {
  $id: "api-key",
  type: "object",
  additionalProperties: false,
  required: ["id", "name", "roles", "createdOn", "createdBy", "expiresOn", "lastUsedOn"],
  properties: {
    id: { type: "string", description: "Names the key. Nobody can use it to send requests." },
    name: { type: "string", description: "The caller's name is `key:` and this name." },
    roles: { type: "array", items: { type: "string" }, description: "Its rights and roles." },
    createdOn: time,
    createdBy: { type: "string", description: "The user who created it." },
    expiresOn: {
      ...time,
      description:
        "It is rejected from then on. At most `KEYS_MAX_DAYS` after its creation; it also ends when the user who created it, or created the key that did, is disabled.",
    },
    lastUsedOn: {
      type: ["string", "null"],
      format: "date-time",
      description: "When it was used last, to within a minute; null if never.",
    },
  },
} as const;

export type KeyView = FromSchema<typeof keyViewSchema>;

/** The body of `POST /api/topicsync/v1/keys`. */
export const newKeySchema = {
  $id: "new-api-key",
  type: "object",
  additionalProperties: false,
  required: ["name", "roles", "expiresOn"],
  properties: {
    name: {
      ...keyName,
      description: "Two keys can have the same name at a time, so that one can replace the other.",
    },
    roles: {
      type: "array",
      items: grantSchema,
      maxItems: 100,
      description: "Rights and roles, none beyond those of the caller.",
    },
    expiresOn: { ...time, description: "A time in the future, at most `KEYS_MAX_DAYS` (365) away." },
  },
  examples: [
    { name: "push-sender", roles: ["installations.read-tokens"], expiresOn: "2027-11-01T00:00:00Z" },
  ],
} as const;

export type NewKeyBody = FromSchema<typeof newKeySchema>;

/** The response body: the only one that contains the key. */
export const createdKeySchema = {
  ...keyViewSchema,
  $id: "created-api-key",
  required: [...keyViewSchema.required, "key"],
  properties: {
    ...keyViewSchema.properties,
    key: { type: "string", description: "Send it as `Authorization: Bearer …`. It is not shown again." },
  },
} as const;

export type CreatedKeyView = FromSchema<typeof createdKeySchema>;

/** The query of `GET /api/topicsync/v1/keys`. */
export const keyQuerySchema = {
  $id: "api-key-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    limit: pageSize(1_000, 1_000),
    after: pageCursor,
  },
} as const;

export type KeyQuery = FromSchema<typeof keyQuerySchema>;

/** The response of `GET /api/topicsync/v1/keys`. */
export const keyListSchema = {
  $id: "api-key-list",
  type: "object",
  additionalProperties: false,
  required: ["keys", "next"],
  properties: {
    keys: { type: "array", items: keyViewSchema, description: "Sorted by name." },
    next: { type: ["string", "null"], description: "Cursor of the next page; null on the last page." },
  },
} as const;

export type KeyList = FromSchema<typeof keyListSchema>;
