import type { FromSchema } from "json-schema-to-ts";

import { installationViewSchema } from "./view.ts";
import { pageCursor, pageSize, trueOrFalse } from "../query.ts";

const name = { type: "string", format: "text", minLength: 1 } as const;

/**
 * The query of `GET /api/topicsync/v1/installations`. It takes only the last characters of a token, since
 * proxies log URLs.
 */
export const installationQuerySchema = {
  $id: "installation-query",
  type: "object",
  additionalProperties: false,
  required: [],
  properties: {
    application: { ...name, description: "Only installations of this push application." },
    platform: { ...name, description: "Only installations on this push platform." },
    user: { ...name, description: "Only installations of this user." },
    tokenSuffix: {
      ...name,
      pattern: "^[\\s\\S]{4,12}$",
      expected: "the last 4 to 12 characters of a token",
      description: "Only installations whose token ends with these 4 to 12 characters.",
    },
    active: {
      ...trueOrFalse,
      description: "`true`: only active installations; `false`: only inactive ones.",
    },
    unseenSince: {
      type: "string",
      format: "date-time",
      description: "Only installations last registered before this time (RFC 3339).",
    },
    fullTokens: {
      ...trueOrFalse,
      default: false,
      description: "Return whole tokens. Anyone who has one can send to its device.",
    },
    limit: pageSize(1_000, 100),
    after: pageCursor,
  },
} as const;

/** The query with its defaults. */
export type InstallationListQuery = FromSchema<typeof installationQuerySchema>;

/** The response body. */
export const installationListSchema = {
  $id: "installation-list",
  type: "object",
  additionalProperties: false,
  required: ["installations", "next", "scanned"],
  properties: {
    installations: { type: "array", items: installationViewSchema },
    next: {
      type: ["string", "null"],
      description: "Cursor of the next page; null on the last page. A short or empty page may have one.",
    },
    scanned: {
      type: "integer",
      minimum: 0,
      description: "Number of records examined for this page.",
    },
  },
} as const;

export type InstallationList = FromSchema<typeof installationListSchema>;
