import type { FromSchema } from "json-schema-to-ts";

/** The body of `POST /api/topicsync/v1/session`. */
export const credentialsSchema = {
  $id: "credentials",
  type: "object",
  additionalProperties: false,
  required: ["user", "password"],
  properties: {
    user: { type: "string", minLength: 1, maxLength: 256 },
    password: { type: "string", minLength: 1, maxLength: 1024 },
  },
} as const;

export type CredentialsBody = FromSchema<typeof credentialsSchema>;

/** Who is signed in. */
export const sessionSchema = {
  $id: "session",
  type: "object",
  additionalProperties: false,
  required: ["user", "roles", "csrfToken", "expiresOn"],
  properties: {
    user: { type: "string" },
    roles: { type: "array", items: { type: "string" } },
    csrfToken: {
      type: ["string", "null"],
      description:
        "Sent as `X-CSRF-Token` with each request of the session that changes something; null for a caller with credentials.",
    },
    expiresOn: {
      type: ["string", "null"],
      format: "date-time",
      description: "When the session is over; null for a caller with credentials.",
    },
  },
} as const;

export type SessionView = FromSchema<typeof sessionSchema>;

/** How one can sign in on the console, besides with a user and a password. */
export const signInOptionsSchema = {
  $id: "signInWays",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    openId: {
      type: "object",
      description: "By way of an OpenID provider; absent where none is set up.",
      additionalProperties: false,
      required: ["provider", "url"],
      properties: {
        provider: { type: "string", description: "The provider's host." },
        url: { type: "string", description: "Where it begins: a browser goes there." },
      },
    },
  },
} as const;

export type SignInOptions = FromSchema<typeof signInOptionsSchema>;

/** Why signing in with OpenID came to nothing, as `/console?sign-in=…` is told. */
export const signInFailures = [
  "declined",
  "expired",
  "refused",
  "nameless",
  "throttled",
  "unavailable",
] as const;

export type SignInFailureReason = (typeof signInFailures)[number];
