import {
  installationListSchema,
  installationQuerySchema,
  type InstallationList,
  type InstallationQueryTexts,
} from "../../schemas/installation-list.ts";
import { toInstallationView } from "../../src/installations/installation.ts";
import type { InstallationListing } from "../../src/installations/listing.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { operation, type Operation } from "../framework/operation.ts";
import { validateQuery, toQueryParameters } from "../framework/query.ts";

const checkQuery = createValidator<InstallationQueryTexts>(installationQuerySchema, { defaults: true });

/** `GET /api/topicsync/v1/installations`: the stored push tokens, page by page. */
export const installationListOperations = (listing: InstallationListing): readonly Operation[] => [
  operation({
    id: "listInstallations",
    method: "GET",
    paths: ["/api/topicsync/v1/installations"],
    access: roles.pushAdmin,
    tag: "push",
    summary: "List push tokens",
    description:
      "Sorted by id, which never changes. A token registered while you page may be on a later page or on none. Tokens are shortened unless `fullTokens` is true. A request searches for about a second; if few installations match, a page may be short or empty while `next` is set.",
    query: toQueryParameters(installationQuerySchema),
    replies: { 200: { description: "A page of installations.", schema: installationListSchema } },
    refusals: ["SCHEMA_VIOLATION"],
    async handle({ query }) {
      const { active, unseenSince, fullTokens, limit, after, ...filter } = validateQuery(checkQuery, query);
      const page = await listing.page(
        {
          ...filter,
          active: active === undefined ? undefined : active === "true",
          unseenSince: unseenSince === undefined ? undefined : new Date(unseenSince),
        },
        { after, limit: Number(limit) },
      );
      const json: InstallationList = {
        installations: page.installations.map((one) =>
          toInstallationView(one, { fullTokens: fullTokens === "true" }),
        ),
        next: page.next ?? null,
        looked: page.looked,
      };
      return { status: 200, json, headers: { "Cache-Control": "no-store" } };
    },
  }),
];
