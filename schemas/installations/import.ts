import type { FromSchema } from "json-schema-to-ts";

const count = { type: "integer", minimum: 0 } as const;

/** The maximum size of a body, in bytes. */
export const maxImportBytes = 100 * 1024;
/** The maximum number of installations in a body. */
export const maxImported = 200;

/** The body of `POST /api/topicsync/v1/installations/import`. */
export const installationImportSchema = {
  $id: "installation-import",
  type: "object",
  additionalProperties: false,
  required: ["installations"],
  properties: {
    installations: {
      type: "array",
      minItems: 1,
      maxItems: maxImported,
      items: {
        description:
          "An installation as listed with `fullTokens`; without `id` it gets a new one. One that is not valid is rejected alone.",
      },
    },
    dryRun: { type: "boolean", description: "Check and count them, and store nothing." },
  },
  examples: [
    {
      installations: [
        {
          application: "Field Service",
          platform: "ios",
          token: "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad",
          user: "ann",
          active: true,
          createdOn: "2025-03-01T09:30:00Z",
          updatedOn: "2026-11-01T07:18:04Z",
          lastSeenOn: "2026-11-01T07:18:04Z",
        },
      ],
    },
  ],
} as const;

export type InstallationImportBody = FromSchema<typeof installationImportSchema>;

/** The response body. */
export const importedInstallationsSchema = {
  $id: "installations-imported",
  type: "object",
  additionalProperties: false,
  required: ["added", "updated", "kept", "rejected"],
  properties: {
    added: count,
    updated: count,
    kept: { ...count, description: "Number of installations whose stored version is as new, or newer." },
    rejected: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["index", "reason"],
        properties: {
          index: { ...count, description: "Its place in the body, from 0." },
          reason: { type: "string" },
        },
      },
    },
  },
} as const;

export type ImportedInstallations = FromSchema<typeof importedInstallationsSchema>;
