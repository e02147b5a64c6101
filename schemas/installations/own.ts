import type { FromSchema } from "json-schema-to-ts";

import { installationViewSchema } from "./view.ts";
import { page, query, trueOrFalse } from "../query.ts";
import { list, named, nonEmpty, nullableText } from "../shapes.ts";

/** The query of `GET …/push/my/installations`. */
export const ownInstallationQuerySchema = query("own-installation-query", {
  application: nonEmpty("Only installations of this push application."),
  platform: nonEmpty("Only installations on this push platform."),
  active: trueOrFalse("`true`: only active installations; `false`: only inactive ones."),
  ...page(1_000, 100),
});

export type OwnInstallationQuery = FromSchema<typeof ownInstallationQuerySchema>;

/** The response body. */
export const ownInstallationsSchema = named("own-installations", {
  installations: list(installationViewSchema, "Without previous owners, and with shortened tokens."),
  next: nullableText("Cursor of the next page; null on the last page. A short page may have one."),
});

export type OwnInstallations = FromSchema<typeof ownInstallationsSchema>;
