import type { FromSchema } from "json-schema-to-ts";

const platform = {
  type: "string",
  format: "text",
  minLength: 1,
  description: "Name of a push platform, as in `sys_push_platform`.",
} as const;

const token = { type: "string", format: "text", minLength: 1, maxLength: 4096 } as const;

/** The body of `POST …/push/{app}/installation` (specification 4.1); `previousToken` is an extension. */
export const registrationSchema = {
  $id: "registration",
  type: "object",
  additionalProperties: false,
  required: ["platform", "token"],
  properties: {
    platform,
    token: { ...token, description: "The device token, as issued by the push service." },
    previousToken: {
      ...token,
      type: ["string", "null"],
      description: "The token that this one replaces. It is deactivated if it belongs to the caller.",
    },
  },
  examples: [{ platform: "ios", token: "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad" }],
} as const;

export type Registration = FromSchema<typeof registrationSchema>;

/**
 * The body of `POST …/push/{app}/removeInstallation` (specification 4.2); `token` and `scope` are extensions.
 */
export const removalSchema = {
  $id: "removal",
  type: "object",
  additionalProperties: false,
  required: ["platform"],
  properties: {
    platform,
    token: {
      ...token,
      type: ["string", "null"],
      description: "Deactivate only this token of the caller. Not together with `scope`.",
    },
    scope: {
      enum: ["all", null],
      description:
        "`all` deactivates the tokens of all users; this requires the right `installations.write-all`.",
    },
  },
  examples: [{ platform: "ios" }],
} as const;

export type Removal = FromSchema<typeof removalSchema>;
