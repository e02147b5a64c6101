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
      description: "Ids of installations, as listings give them.",
    },
    reason: {
      type: "string",
      format: "text",
      minLength: 1,
      maxLength: 200,
      description: "Why; it stands in the records.",
    },
  },
  examples: [{ ids: ["5d3c6c1f0e9b4a7c8d2e1f3a4b5c6d7e"], reason: "lost telephone" }],
} as const;

export type DeactivationBody = FromSchema<typeof deactivationSchema>;

/** The answer to it. */
export const deactivatedSchema = {
  $id: "installations-deactivated",
  type: "object",
  additionalProperties: false,
  required: ["deactivated"],
  properties: {
    deactivated: {
      type: "integer",
      minimum: 0,
      description: "How many were active until now; the others were inactive already, or are not known.",
    },
  },
} as const;

export type Deactivated = FromSchema<typeof deactivatedSchema>;
