import type { FromSchema } from "json-schema-to-ts";

import { count, flag, named, objects, text } from "../shapes.ts";

/** The maximum size of a body, in bytes. */
export const maxImportBytes = 100 * 1024;
/** The maximum number of installations in a body. */
export const maxImported = 200;

/** The body of `POST /api/topicsync/v1/installations/import`. */
export const installationImportSchema = {
  ...named("installation-import", {
    installations: {
      type: "array",
      minItems: 1,
      maxItems: maxImported,
      items: {
        description:
          "An installation as listed with `fullTokens`; without `id` it gets a new one. One that is not valid is rejected alone.",
      },
    },
    "dryRun?": flag("Check and count them, and store nothing."),
  }),
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
export const importedInstallationsSchema = named("installations-imported", {
  added: count(),
  updated: count(),
  kept: count("Number of installations whose stored version is as new, or newer."),
  rejected: objects({
    index: count("Its place in the body, from 0."),
    reason: text(),
  }),
});

export type ImportedInstallations = FromSchema<typeof importedInstallationsSchema>;
