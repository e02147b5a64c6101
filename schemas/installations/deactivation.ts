import type { FromSchema } from "json-schema-to-ts";

import { count, limited, named, time } from "../shapes.ts";

/** The body of `POST /api/topicsync/v1/installations/deactivate`. */
export const deactivationSchema = {
  ...named("installation-deactivation", {
    ids: {
      type: "array",
      minItems: 1,
      maxItems: 200,
      items: { type: "string", format: "text", minLength: 1, maxLength: 100 },
      description: "Ids of installations, as returned by the list.",
    },
    reason: limited(200, "Stored with each installation, and shown to its owner."),
    "unseenSince?": time("Only installations that are still last registered before this time (RFC 3339)."),
  }),
  examples: [{ ids: ["5d3c6c1f0e9b4a7c8d2e1f3a4b5c6d7e"], reason: "lost telephone" }],
} as const;

export type DeactivationBody = FromSchema<typeof deactivationSchema>;

/** The response body. */
export const deactivatedSchema = named("installations-deactivated", {
  deactivated: count(
    "Number of installations that were active. The others were inactive already, do not exist, or were registered since `unseenSince`.",
  ),
});

export type Deactivated = FromSchema<typeof deactivatedSchema>;
