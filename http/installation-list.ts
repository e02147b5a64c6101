import {
  installationListSchema,
  installationQuerySchema,
  type InstallationList,
  type InstallationQueryTexts,
} from "../schemas/installation-list.ts";
import { Refusal } from "../src/errors.ts";
import { viewOf } from "../src/installations/installation.ts";
import type { InstallationListing } from "../src/installations/listing.ts";
import { roles } from "../src/users/user.ts";
import { compile } from "../src/validation.ts";
import { operation, type Operation } from "./operation.ts";

const checkQuery = compile<InstallationQueryTexts>(installationQuerySchema, { defaults: true });

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
      "In the order of their ids, which never changes: a token that is registered meanwhile may be in a later page or not at all. Tokens are shortened unless asked for.",
    query: Object.entries(installationQuerySchema.properties).map(([name, { description, ...schema }]) => ({
      name,
      description,
      schema,
    })),
    replies: { 200: { description: "A page of installations.", schema: installationListSchema } },
    refusals: ["SCHEMA_VIOLATION"],
    async handle({ query }) {
      const { active, unseenSince, fullTokens, limit, after, ...filter } = checked(query);
      const page = await listing.page(
        {
          ...filter,
          active: active === undefined ? undefined : active === "true",
          unseenSince: unseenSince === undefined ? undefined : new Date(unseenSince),
        },
        { after, limit: Number(limit) },
      );
      const json: InstallationList = {
        installations: page.installations.map((one) => viewOf(one, { fullTokens: fullTokens === "true" })),
        next: page.next ?? null,
      };
      return { status: 200, json, headers: { "Cache-Control": "no-store" } };
    },
  }),
];

function checked(query: Readonly<Record<string, unknown>>): InstallationQueryTexts {
  const found = checkQuery({ ...query });
  if (found.ok) return found.value;
  throw new Refusal("SCHEMA_VIOLATION", "The query is not what this operation takes.", found.faults);
}
