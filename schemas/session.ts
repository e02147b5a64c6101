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

export type Credentials = FromSchema<typeof credentialsSchema>;

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
