import type { FromSchema } from "json-schema-to-ts";

import { installationViewSchema } from "./view.ts";
import { page, query, trueOrFalse } from "../query.ts";
import { count, list, named, nonEmpty, nullableText, time } from "../shapes.ts";

/**
 * The query of `GET /api/topicsync/v1/installations`. It takes only the last characters of a token, since
 * proxies log URLs.
 */
export const installationQuerySchema = query("installation-query", {
  application: nonEmpty("Only installations of this push application."),
  platform: nonEmpty("Only installations on this push platform."),
  user: nonEmpty("Only installations of this user."),
  tokenSuffix: {
    ...nonEmpty(),
    pattern: "^[\\s\\S]{4,12}$",
    expected: "the last 4 to 12 characters of a token",
    description: "Only installations whose token ends with these 4 to 12 characters.",
  },
  active: trueOrFalse("`true`: only active installations; `false`: only inactive ones."),
  unseenSince: time("Only installations last registered before this time (RFC 3339)."),
  fullTokens: {
    ...trueOrFalse(),
    default: false,
    description: "Return whole tokens. Anyone who has one can send to its device.",
  },
  ...page(1_000, 100),
});

/** The query with its defaults. */
export type InstallationListQuery = FromSchema<typeof installationQuerySchema>;

/** The response body. */
export const installationListSchema = named("installation-list", {
  installations: list(installationViewSchema),
  next: nullableText("Cursor of the next page; null on the last page. A short or empty page may have one."),
  scanned: count("Number of records examined for this page."),
});

export type InstallationList = FromSchema<typeof installationListSchema>;
