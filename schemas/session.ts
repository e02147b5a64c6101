import type { FromSchema } from "json-schema-to-ts";

import { rights } from "./rights.ts";
import { newPasswordSchema } from "./user.ts";
import { flag, list, named, nullableText, nullableTime, object, objects, text, time } from "./shapes.ts";

/** The body of `POST /api/topicsync/v1/session`. */
export const credentialsSchema = named("credentials", {
  user: { type: "string", minLength: 1, maxLength: 256 },
  password: { type: "string", minLength: 1, maxLength: 1024 },
});

export type CredentialsBody = FromSchema<typeof credentialsSchema>;

/** The caller, and the session if there is one. */
export const sessionSchema = named("session", {
  user: text(),
  roles: list(text(), "The caller's rights and roles."),
  rights: list(
    { enum: rights },
    "The rights that follow from them, also those that are limited to namespaces.",
  ),
  csrfToken: nullableText(
    "Send it as `X-CSRF-Token` with every request of the session that changes something; null without a session.",
  ),
  expiresOn: nullableTime("When the session expires even if it is used; null without a session."),
});

export type SessionView = FromSchema<typeof sessionSchema>;

/** The body of `POST /api/topicsync/v1/session/password`. */
export const ownPasswordSchema = named("own-password", {
  currentPassword: credentialsSchema.properties.password,
  password: newPasswordSchema.properties.password,
});

export type OwnPasswordBody = FromSchema<typeof ownPasswordSchema>;

/** The caller's sessions. */
export const sessionListSchema = named("session-list", {
  sessions: objects("The newest first.", {
    id: text("Names the session. Nobody can sign in with it."),
    startedOn: time(),
    expiresOn: time("When it expires unless it is used."),
    current: flag("Whether the request was sent in this session."),
  }),
});

export type SessionList = FromSchema<typeof sessionListSchema>;

/** The ways to sign in on the console besides user and password. */
export const signInMethodsSchema = named("sign-in-methods", {
  "openId?": object("An OpenID provider; absent if none is configured.", {
    provider: text("The provider's host."),
    url: text("Where a browser starts the sign-in."),
  }),
});

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
