import type { FromSchema } from "json-schema-to-ts";

import { limited, named, nonEmpty, nullable } from "../shapes.ts";
import { givenAttributes } from "./attributes.ts";

const platform = nonEmpty("Name of a push platform, as in `sys_push_platform`.");

/** The body of `POST …/push/{app}/installation` (specification 4.1); `previousToken` is an extension. */
export const registrationSchema = {
  ...named("registration", {
    platform,
    token: limited(4096, "The device token, as issued by the push service."),
    "previousToken?": nullable(
      limited(4096, "The token that this one replaces. It is deactivated if it belongs to the caller."),
    ),
    "attributes?": givenAttributes(
      "What the app says about its device, to select devices by. Replaces the stored ones as a whole; `{}` removes them. Without this member they stay as they are, unless the token moves to another user.",
    ),
  }),
  examples: [
    {
      platform: "ios",
      token: "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad",
      attributes: { appVersion: "4.2.1", locale: "de-AT", apnsEnvironment: "production" },
    },
  ],
} as const;

export type Registration = FromSchema<typeof registrationSchema>;

/**
 * The body of `POST …/push/{app}/removeInstallation` (specification 4.2); `token` and `scope` are extensions.
 */
export const removalSchema = {
  ...named("removal", {
    platform,
    "token?": nullable(limited(4096, "Deactivate only this token of the caller. Not together with `scope`.")),
    "scope?": {
      enum: ["all", null],
      description:
        "`all` deactivates the tokens of all users; this requires the right `installations.write-all`.",
    },
  }),
  examples: [{ platform: "ios" }],
} as const;

export type Removal = FromSchema<typeof removalSchema>;
