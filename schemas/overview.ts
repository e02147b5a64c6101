import type { FromSchema } from "json-schema-to-ts";

import { deadLetterItemSchema } from "./dead-letters/dead-letter.ts";
import { readinessSchema } from "./health.ts";
import { syncStatusSchema } from "./sync-status.ts";

const count = { type: "integer", minimum: 0 } as const;

const lag = {
  lagRecords: { type: ["integer", "null"], minimum: 0 },
  lagSeconds: { type: ["number", "null"], minimum: 0 },
} as const;

const sample = {
  type: "object",
  additionalProperties: false,
  required: ["at", "lagRecords", "lagSeconds", "applied", "rejected", "router"],
  properties: {
    at: { type: "string", format: "date-time" },
    ...lag,
    applied: { ...count, description: "Announcements applied by the responding process so far." },
    rejected: { ...count, description: "Announcements rejected by it so far." },
    router: {
      description: "The router at that time; null if no events are forwarded.",
      anyOf: [
        { type: "null" },
        {
          type: "object",
          additionalProperties: false,
          required: ["lagRecords", "lagSeconds", "events", "forwarded"],
          properties: {
            ...lag,
            events: {
              ...count,
              description:
                "Events that the responding process has matched so far, whether a topic wanted them or not.",
            },
            forwarded: {
              ...count,
              description: "Copies of events that it has forwarded so far, one per topic.",
            },
          },
        },
      ],
    },
  },
} as const;

export type Sample = FromSchema<typeof sample>;

const installationTotal = {
  type: "object",
  additionalProperties: false,
  required: ["application", "platform", "active", "inactive"],
  properties: {
    application: { type: "string" },
    platform: { type: "string" },
    active: count,
    inactive: count,
  },
} as const;

export type InstallationCount = FromSchema<typeof installationTotal>;

/** The response of `GET /api/topicsync/v1/overview`. */
export const overviewSchema = {
  $id: "overview",
  type: "object",
  additionalProperties: false,
  required: [
    "at",
    "version",
    "ready",
    "checks",
    "sync",
    "history",
    "deadLetters",
    "installations",
    "problems",
  ],
  properties: {
    at: { type: "string", format: "date-time" },
    version: { type: "string", description: "The version of topicsync." },
    ready: { type: "boolean", description: "Whether every check passes." },
    checks: readinessSchema.properties.checks,
    sync: syncStatusSchema,
    history: {
      type: "array",
      items: sample,
      description:
        "The last hour as seen by the responding process, one sample per ten seconds, oldest first.",
    },
    deadLetters: {
      description:
        "The newest dead letters that the caller may read; null while they are unknown, and without the right `dead-letters.read`.",
      anyOf: [{ type: "null" }, { type: "array", items: deadLetterItemSchema }],
    },
    installations: {
      description:
        "Number of installations by application and platform, counted at most every 30 seconds; null until the first count.",
      anyOf: [{ type: "null" }, { type: "array", items: installationTotal }],
    },
    problems: {
      type: "array",
      items: { type: "string" },
      description: "What could not be determined, and why; empty without the right `status.read`.",
    },
  },
} as const;

export type Overview = FromSchema<typeof overviewSchema>;
