import type { FromSchema } from "json-schema-to-ts";

import { deadLetterItemSchema } from "./dead-letters/dead-letter.ts";
import { readinessSchema } from "./health.ts";
import { syncStatusSchema } from "./sync-status.ts";
import { count, flag, list, named, nullableCount, object, orNull, text, time } from "./shapes.ts";

const lag = {
  lagRecords: nullableCount(),
  lagSeconds: { type: ["number", "null"], minimum: 0 },
} as const;

const sample = object({
  at: time(),
  ...lag,
  applied: count("Announcements applied by the responding process so far."),
  rejected: count("Announcements rejected by it so far."),
  router: {
    description: "The router at that time; null if no events are forwarded.",
    anyOf: orNull({
      ...lag,
      events: count(
        "Events that the responding process has matched so far, whether a topic wanted them or not.",
      ),
      forwarded: count("Copies of events that it has forwarded so far, one per topic."),
    }),
  },
});

export type Sample = FromSchema<typeof sample>;

const installationTotal = object({
  application: text(),
  platform: text(),
  active: count(),
  inactive: count(),
});

export type InstallationCount = FromSchema<typeof installationTotal>;

/** The response of `GET /api/topicsync/v1/overview`. */
export const overviewSchema = named("overview", {
  at: time(),
  version: text("The version of topicsync."),
  ready: flag("Whether every check passes."),
  checks: readinessSchema.properties.checks,
  sync: syncStatusSchema,
  history: list(
    sample,
    "The last hour as seen by the responding process, one sample per ten seconds, oldest first.",
  ),
  deadLetters: {
    description:
      "The newest dead letters that the caller may read; null while they are unknown, and without the right `dead-letters.read`.",
    anyOf: [{ type: "null" }, list(deadLetterItemSchema)],
  },
  installations: {
    description:
      "Number of installations by application and platform, counted at most every 30 seconds; null until the first count.",
    anyOf: [{ type: "null" }, list(installationTotal)],
  },
  problems: list(text(), "What could not be determined, and why; empty without the right `status.read`."),
});

export type Overview = FromSchema<typeof overviewSchema>;
