import type { FromSchema } from "json-schema-to-ts";

import { installationViewSchema } from "./installation-view.ts";

const name = { type: "string", format: "text", minLength: 1 } as const;
const truth = { enum: ["true", "false"] } as const;

/**
 * The query of `GET /api/topicsync/v1/installations`: texts, as they stand in a URL. Tokens are not among them, but for
 * their last characters: URLs are written into the logs of whatever lies between.
 */
export const installationQuerySchema = {
  $id: "installation-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    application: { ...name, description: "Only those of this push application." },
    platform: { ...name, description: "Only those on this push platform." },
    user: { ...name, description: "Only this user's." },
    tokenEnd: {
      ...name,
      pattern: "^[\\s\\S]{4,12}$",
      expected: "the last 4 to 12 characters of a token, no more",
      description: "Only those whose token ends with this.",
    },
    active: { ...truth, description: "Only active ones, or only inactive ones." },
    unseenSince: {
      type: "string",
      format: "date-time",
      description: "Only those that were last registered before this time (RFC 3339).",
    },
    fullTokens: {
      ...truth,
      default: "false",
      description: "Whether tokens are shown whole: whoever has one can send to its device.",
    },
    limit: {
      type: "string",
      pattern: "^[1-9][0-9]{0,3}$",
      expected: "a whole number from 1 to 1000",
      default: "100",
      description: "How many installations a page has at most, 1 to 1000.",
    },
    after: {
      ...name,
      maxLength: 1_000,
      description: "The page behind this cursor: the `next` of the one before.",
    },
  },
} as const;

/** The query; `FromSchema` takes a member with a default for one that is always there. */
export type InstallationQueryTexts = FromSchema<typeof installationQuerySchema>;

/** The answer to it. */
export const installationListSchema = {
  $id: "installation-list",
  type: "object",
  additionalProperties: false,
  required: ["installations", "next", "looked"],
  properties: {
    installations: { type: "array", items: installationViewSchema },
    next: {
      type: ["string", "null"],
      description:
        "Where the next page begins; null behind the last. A page may be short, or empty, and still have one.",
    },
    looked: {
      type: "integer",
      minimum: 0,
      description: "How many installations were looked at for this page.",
    },
  },
} as const;

export type InstallationList = FromSchema<typeof installationListSchema>;
