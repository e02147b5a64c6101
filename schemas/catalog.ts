import type { FromSchema } from "json-schema-to-ts";

const control = "\\u0000-\\u001f\\u007f-\\u009f";

/** A name that looks unlike any other: no space at either end, no control characters. */
export const catalogNamePattern = `^[^\\s${control}](?:[^${control}]{0,254}[^\\s${control}])?$`;

/** Describes `catalogNamePattern`. */
export const catalogNameRule =
  "a name of 1 to 256 characters, without a space at either end and without control characters";

const newName = {
  type: "string",
  format: "text",
  pattern: catalogNamePattern,
  expected: catalogNameRule,
} as const;
const active = { type: "boolean", description: "Whether tokens can be registered." } as const;
const knownRule = { enum: ["apns", "fcm", "webpush", null] } as const;

/** A push application. */
export const applicationSchema = {
  $id: "push-application",
  type: "object",
  additionalProperties: false,
  required: ["name", "active"],
  properties: { name: { type: "string" }, active },
} as const;

/** A push platform. */
export const platformSchema = {
  $id: "push-platform",
  type: "object",
  additionalProperties: false,
  required: ["name", "active", "tokenRule"],
  properties: {
    name: { type: "string" },
    active,
    tokenRule: {
      type: ["string", "null"],
      description: "Format of the tokens; null: any text of at most 4,096 characters.",
    },
  },
} as const;

export type PlatformView = FromSchema<typeof platformSchema>;
export type ApplicationView = FromSchema<typeof applicationSchema>;

const installations = {
  type: "object",
  additionalProperties: false,
  required: ["active", "inactive"],
  properties: { active: { type: "integer" }, inactive: { type: "integer" } },
  description: "The number of its push tokens.",
} as const;

/** The response of `GET /api/topicsync/v1/applications/{name}`. */
export const applicationDetailSchema = {
  ...applicationSchema,
  $id: "push-application-detail",
  required: [...applicationSchema.required, "installations"],
  properties: { ...applicationSchema.properties, installations },
} as const;

/** The response of `GET /api/topicsync/v1/platforms/{name}`. */
export const platformDetailSchema = {
  ...platformSchema,
  $id: "push-platform-detail",
  required: [...platformSchema.required, "installations"],
  properties: { ...platformSchema.properties, installations },
} as const;

export type PlatformDetail = FromSchema<typeof platformDetailSchema>;

/** The response of `GET /api/topicsync/v1/applications`. */
export const applicationListSchema = {
  $id: "push-application-list",
  type: "object",
  additionalProperties: false,
  required: ["applications"],
  properties: { applications: { type: "array", items: applicationSchema, description: "Sorted by name." } },
} as const;

/** The response of `GET /api/topicsync/v1/platforms`. */
export const platformListSchema = {
  $id: "push-platform-list",
  type: "object",
  additionalProperties: false,
  required: ["platforms"],
  properties: { platforms: { type: "array", items: platformSchema, description: "Sorted by name." } },
} as const;

/** The body of `POST /api/topicsync/v1/applications`. */
export const newApplicationSchema = {
  $id: "new-push-application",
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: { name: newName },
  examples: [{ name: "Field Service" }],
} as const;

export type NewApplication = FromSchema<typeof newApplicationSchema>;

/** The body of `POST /api/topicsync/v1/platforms`. */
export const newPlatformSchema = {
  $id: "new-push-platform",
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: {
    name: newName,
    tokenRule: { ...knownRule, description: "Format of its tokens. Default: any text." },
  },
  examples: [{ name: "ipados", tokenRule: "apns" }],
} as const;

export type NewPlatform = FromSchema<typeof newPlatformSchema>;

/** The body of `POST /api/topicsync/v1/platforms/{name}/rule`. */
export const tokenRuleSchema = {
  $id: "token-rule",
  type: "object",
  additionalProperties: false,
  required: ["tokenRule"],
  properties: { tokenRule: { ...knownRule, description: "null removes the rule." } },
  examples: [{ tokenRule: "fcm" }],
} as const;

export type TokenRuleBody = FromSchema<typeof tokenRuleSchema>;
