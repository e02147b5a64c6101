import type { FromSchema } from "json-schema-to-ts";

import { atom, flag, input, integer, list, named, nullableText, object, text } from "./shapes.ts";

const control = "\\u0000-\\u001f\\u007f-\\u009f";

/** A name that looks unlike any other. */
const newName = {
  ...input(),
  pattern: `^[^\\s${control}](?:[^${control}]{0,254}[^\\s${control}])?$`,
  expected: "a name of 1 to 256 characters, without a space at either end and without control characters",
} as const;
const knownRule = atom({ enum: ["apns", "fcm", "webpush", null] });

const applicationMembers = { name: text(), active: flag("Whether tokens can be registered.") } as const;

const platformMembers = {
  ...applicationMembers,
  tokenRule: nullableText("Format of the tokens; null: any text of at most 4,096 characters."),
} as const;

/** A push application. */
export const applicationSchema = named("push-application", applicationMembers);

/** A push platform. */
export const platformSchema = named("push-platform", platformMembers);

export type PlatformView = FromSchema<typeof platformSchema>;
export type ApplicationView = FromSchema<typeof applicationSchema>;

const installations = {
  ...object({ active: integer(), inactive: integer() }),
  description: "The number of its push tokens.",
} as const;

/** The response of `GET /api/topicsync/v1/applications/{name}`. */
export const applicationDetailSchema = named("push-application-detail", {
  ...applicationMembers,
  installations,
});

/** The response of `GET /api/topicsync/v1/platforms/{name}`. */
export const platformDetailSchema = named("push-platform-detail", { ...platformMembers, installations });

export type PlatformDetail = FromSchema<typeof platformDetailSchema>;

/** The response of `GET /api/topicsync/v1/applications`. */
export const applicationListSchema = named("push-application-list", {
  applications: list(applicationSchema, "Sorted by name."),
});

/** The response of `GET /api/topicsync/v1/platforms`. */
export const platformListSchema = named("push-platform-list", {
  platforms: list(platformSchema, "Sorted by name."),
});

/** The body of `POST /api/topicsync/v1/applications`. */
export const newApplicationSchema = {
  ...named("new-push-application", { name: newName }),
  examples: [{ name: "Field Service" }],
} as const;

export type NewApplication = FromSchema<typeof newApplicationSchema>;

/** The body of `POST /api/topicsync/v1/platforms`. */
export const newPlatformSchema = {
  ...named("new-push-platform", {
    name: newName,
    "tokenRule?": knownRule("Format of its tokens. Default: any text."),
  }),
  examples: [{ name: "ipados", tokenRule: "apns" }],
} as const;

export type NewPlatform = FromSchema<typeof newPlatformSchema>;

/** The body of `POST /api/topicsync/v1/platforms/{name}/rule`. */
export const tokenRuleSchema = {
  ...named("token-rule", { tokenRule: knownRule("null removes the rule.") }),
  examples: [{ tokenRule: "fcm" }],
} as const;

export type TokenRuleBody = FromSchema<typeof tokenRuleSchema>;
