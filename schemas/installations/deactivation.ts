import type { FromSchema } from "json-schema-to-ts";

/** The body of `POST /api/topicsync/v1/installations/deactivate`. */
export const deactivationSchema = {
  $id: "installation-deactivation",
  type: "object",
  additionalProperties: false,
  required: ["ids", "reason"],
  properties: {
    ids: {
      type: "array",
      minItems: 1,
      maxItems: 200,
      items: { type: "string", format: "text", minLength: 1, maxLength: 100 },
      description: "Ids of installations, as returned by the list.",
    },
    reason: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 200,
      description: "Stored with each installation.",
    },
    unseenSince: {
      type: "string",
      format: "date-time",
      description: "Only installations that are still last registered before this time (RFC 3339).",
    },
  },
  examples: [{ ids: ["5d3c6c1f0e9b4a7c8d2e1f3a4b5c6d7e"], reason: "lost telephone" }],
} as const;

export type DeactivationBody = FromSchema<typeof deactivationSchema>;

/** The response body. */
export const deactivatedSchema = {
  $id: "installations-deactivated",
  type: "object",
  additionalProperties: false,
  required: ["deactivated"],
  properties: {
    deactivated: {
      type: "integer",
      minimum: 0,
      description:
        "Number of installations that were active. The others were inactive already, do not exist, or were registered since `unseenSince`.",
    },
  },
} as const;

export type Deactivated = FromSchema<typeof deactivatedSchema>;
