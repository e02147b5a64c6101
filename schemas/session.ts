import type { FromSchema } from "json-schema-to-ts";

import { rights } from "./rights.ts";
import { newPasswordSchema } from "./user.ts";

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

/** The caller, and the session if there is one. */
export const sessionSchema = {
  $id: "session",
  type: "object",
  additionalProperties: false,
  required: ["user", "roles", "rights", "csrfToken", "expiresOn"],
  properties: {
    user: { type: "string" },
    roles: { type: "array", items: { type: "string" }, description: "The caller's rights and roles." },
    rights: {
      type: "array",
      items: { enum: rights },
      description: "The rights that follow from them, also those that are limited to namespaces.",
    },
    csrfToken: {
      type: ["string", "null"],
      description:
        "Send it as `X-CSRF-Token` with every request of the session that changes something; null without a session.",
    },
    expiresOn: {
      type: ["string", "null"],
      format: "date-time",
      description: "When the session expires even if it is used; null without a session.",
    },
  },
} as const;

export type SessionView = FromSchema<typeof sessionSchema>;

/** The body of `POST /api/topicsync/v1/session/password`. */
export const ownPasswordSchema = {
  $id: "own-password",
  type: "object",
  additionalProperties: false,
  required: ["currentPassword", "password"],
  properties: {
    currentPassword: credentialsSchema.properties.password,
    password: newPasswordSchema.properties.password,
  },
} as const;

export type OwnPasswordBody = FromSchema<typeof ownPasswordSchema>;

const time = { type: "string", format: "date-time" } as const;

/** The caller's sessions. */
export const sessionListSchema = {
  $id: "session-list",
  type: "object",
  additionalProperties: false,
  required: ["sessions"],
  properties: {
    sessions: {
      type: "array",
      description: "The newest first.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "startedOn", "expiresOn", "current"],
        properties: {
          id: { type: "string", description: "Names the session. Nobody can sign in with it." },
          startedOn: time,
          expiresOn: { ...time, description: "When it expires unless it is used." },
          current: { type: "boolean", description: "Whether the request was sent in this session." },
        },
      },
    },
  },
} as const;

export type SessionList = FromSchema<typeof sessionListSchema>;

/** The ways to sign in on the console besides user and password. */
export const signInMethodsSchema = {
  $id: "sign-in-methods",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    openId: {
      type: "object",
      description: "An OpenID provider; absent if none is configured.",
      additionalProperties: false,
      required: ["provider", "url"],
      properties: {
        provider: { type: "string", description: "The provider's host." },
        url: { type: "string", description: "Where a browser starts the sign-in." },
      },
    },
  },
} as const;

export type SignInMethods = FromSchema<typeof signInMethodsSchema>;

/** Why a sign-in with OpenID failed: the values of `/console?sign-in=…`. */
export const signInFailures = [
  "declined",
  "expired",
  "rejected",
  "nameless",
  "throttled",
  "unavailable",
] as const;

export type SignInFailureReason = (typeof signInFailures)[number];
