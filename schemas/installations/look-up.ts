import type { FromSchema } from "json-schema-to-ts";

const name = { type: "string", format: "text", minLength: 1 } as const;

/** The body of `POST /api/topicsync/v1/installations/look-up`. */
export const lookUpSchema = {
  $id: "installation-look-up",
  type: "object",
  additionalProperties: false,
  required: ["users", "application"],
  properties: {
    users: {
      type: "array",
      minItems: 1,
      maxItems: 1_000,
      items: { ...name, maxLength: 256 },
      description: "Whose tokens are wanted.",
    },
    application: { ...name, description: "Name of the push application." },
    platform: {
      type: ["string", "null"],
      format: "text",
      minLength: 1,
      description: "Name of the push platform. Default: all platforms.",
    },
    after: {
      type: ["string", "null"],
      format: "text",
      minLength: 1,
      maxLength: 1_000,
      description: "Cursor: the `next` of the previous page, with the same users, application and platform.",
    },
  },
  examples: [{ users: ["ann", "bob"], application: "Field Service", platform: "ios" }],
} as const;

export type LookUpBody = FromSchema<typeof lookUpSchema>;

/** The response body. */
export const lookedUpSchema = {
  $id: "installations-looked-up",
  type: "object",
  additionalProperties: false,
  required: ["installations", "next"],
  properties: {
    installations: {
      type: "array",
      description: "Active tokens, sorted by user: at most 1,000. Users without one do not occur.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "user", "platform", "token", "lastSeenOn"],
        properties: {
          id: { type: "string", description: "The sys_id, for deactivations." },
          user: name,
          platform: name,
          token: { ...name, description: "Anyone who has it can send to the device." },
          lastSeenOn: { type: "string", format: "date-time", description: "Time of the last registration." },
        },
      },
    },
    next: { type: ["string", "null"], description: "Cursor of the next page; null on the last page." },
  },
} as const;

export type LookedUp = FromSchema<typeof lookedUpSchema>;
