import type { FromSchema } from "json-schema-to-ts";

import { grants } from "./rights.ts";
import { page, query } from "./query.ts";
import { list, named, nullableText, nullableTime, text, time } from "./shapes.ts";

const keyMembers = {
  id: text("Names the key. Nobody can use it to send requests."),
  name: text("The caller's name is `key:` and this name."),
  roles: list(text(), "Its rights and roles."),
  createdOn: time(),
  createdBy: text("The user who created it."),
  expiresOn: time(
    "It is rejected from then on. At most `KEYS_MAX_DAYS` after its creation; it also ends when the user who created it, or created the key that did, is disabled.",
  ),
  lastUsedOn: nullableTime("When it was used last, to within a minute; null if never."),
} as const;

/** A key, without its secret. */
export const keyViewSchema = named("api-key", keyMembers);

export type KeyView = FromSchema<typeof keyViewSchema>;

/** The body of `POST /api/topicsync/v1/keys`. */
export const newKeySchema = {
  ...named("new-api-key", {
    name: {
      type: "string",
      pattern: "^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$",
      expected:
        "1 to 100 letters, digits, dots, hyphens and underscores, with a letter or digit at both ends",
      description: "Two keys can have the same name at a time, so that one can replace the other.",
    },
    roles: grants("Rights and roles, none beyond those of the caller."),
    expiresOn: time("A time in the future, at most `KEYS_MAX_DAYS` (365) away."),
  }),
  examples: [
    { name: "push-sender", roles: ["installations.read-tokens"], expiresOn: "2027-11-01T00:00:00Z" },
  ],
} as const;

export type NewKeyBody = FromSchema<typeof newKeySchema>;

/** The response body: the only one that contains the key. */
export const createdKeySchema = named("created-api-key", {
  ...keyMembers,
  key: text("Send it as `Authorization: Bearer …`. It is not shown again."),
});

export type CreatedKeyView = FromSchema<typeof createdKeySchema>;

/** The query of `GET /api/topicsync/v1/keys`. */
export const keyQuerySchema = query("api-key-query", {
  ...page(1_000, 1_000),
});

export type KeyQuery = FromSchema<typeof keyQuerySchema>;

/** The response of `GET /api/topicsync/v1/keys`. */
export const keyListSchema = named("api-key-list", {
  keys: list(keyViewSchema, "Sorted by name."),
  next: nullableText("Cursor of the next page; null on the last page."),
});

export type KeyList = FromSchema<typeof keyListSchema>;
