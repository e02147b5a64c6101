import {
  applicationListSchema,
  applicationSchema,
  newApplicationSchema,
  newPlatformSchema,
  platformListSchema,
  platformSchema,
  tokenRuleSchema,
  type ApplicationList,
  type ApplicationView,
  type NewApplication,
  type NewPlatform,
  type PlatformList,
  type PlatformView,
  type TokenRuleBody,
} from "../../schemas/catalog.ts";
import type { PushPlatform } from "../../src/installations/catalog.ts";
import type { CatalogAdministration, ChangedName } from "../../src/installations/catalog-administration.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { added, found } from "../framework/names.ts";
import { operation, type Operation, type Reply } from "../framework/operation.ts";

const checkNewApplication = createValidator<NewApplication>(newApplicationSchema);
const checkNewPlatform = createValidator<NewPlatform>(newPlatformSchema);
const checkTokenRule = createValidator<TokenRuleBody>(tokenRuleSchema);

const applicationsPath = "/api/topicsync/v1/applications";
const platformsPath = "/api/topicsync/v1/platforms";
const common = { access: roles.admin, tag: "catalog" } as const;

/** Listing, adding and switching the push applications. */
export const applicationOperations = (applications: CatalogAdministration): readonly Operation[] => [
  operation({
    ...common,
    id: "listApplications",
    method: "GET",
    paths: [applicationsPath],
    summary: "List the push applications",
    description: "By name.",
    replies: { 200: { description: "All of them.", schema: applicationListSchema } },
    async handle() {
      const json: ApplicationList = { applications: (await applications.list()).map(applicationView) };
      return { status: 200, json };
    },
  }),
  operation<NewApplication>({
    ...common,
    id: "addApplication",
    method: "POST",
    paths: [applicationsPath],
    summary: "Add a push application",
    description: "Tokens can be registered for it within a second.",
    body: { schema: newApplicationSchema, check: checkNewApplication, wrongTypeStatus: 415 },
    replies: { 201: { description: "The application.", schema: applicationSchema } },
    refusals: ["NAME_TAKEN"],
    handle: async ({ body: { name } }) =>
      replyOf(201, await added(applications.add({ name }), name), applicationView),
  }),
  ...switches(applications, {
    one: "application",
    path: applicationsPath,
    schema: applicationSchema,
    viewOf: applicationView,
  }),
];

/** Listing, adding and switching the push platforms, and their token rules. */
export const platformOperations = (platforms: CatalogAdministration): readonly Operation[] => [
  operation({
    ...common,
    id: "listPlatforms",
    method: "GET",
    paths: [platformsPath],
    summary: "List the push platforms",
    description: "By name.",
    replies: { 200: { description: "All of them.", schema: platformListSchema } },
    async handle() {
      const json: PlatformList = { platforms: (await platforms.list()).map(platformView) };
      return { status: 200, json };
    },
  }),
  operation<NewPlatform>({
    ...common,
    id: "addPlatform",
    method: "POST",
    paths: [platformsPath],
    summary: "Add a push platform",
    description: "Tokens can be registered for it within a second.",
    body: { schema: newPlatformSchema, check: checkNewPlatform, wrongTypeStatus: 415 },
    replies: { 201: { description: "The platform.", schema: platformSchema } },
    refusals: ["NAME_TAKEN"],
    handle: async ({ body: { name, tokenRule } }) =>
      replyOf(
        201,
        await added(platforms.add({ name, tokenRule: tokenRule ?? undefined }), name),
        platformView,
      ),
  }),
  operation<TokenRuleBody>({
    ...common,
    id: "setTokenRule",
    method: "POST",
    paths: [`${platformsPath}/{name}/rule`],
    summary: "Say what a platform's tokens look like",
    description: "It holds for what is registered from then on; the tokens that are there stay as they are.",
    parameters: { name: "Its name." },
    body: { schema: tokenRuleSchema, check: checkTokenRule, wrongTypeStatus: 415 },
    replies: { 200: { description: "The platform, as changed.", schema: platformSchema } },
    refusals: ["NOT_FOUND"],
    handle: async ({ parameters: { name = "" }, body: { tokenRule } }) =>
      replyOf(200, found(await platforms.change(name, { tokenRule }), "platform", name), platformView),
  }),
  ...switches(platforms, {
    one: "platform",
    path: platformsPath,
    schema: platformSchema,
    viewOf: platformView,
  }),
];

interface Switched {
  readonly one: "application" | "platform";
  readonly path: string;
  readonly schema: object;
  readonly viewOf: (record: PushPlatform) => object;
}

const verbs = [
  {
    verb: "disable",
    active: false,
    effect: "Registrations and removals are refused within a second; its tokens stay as they are.",
  },
  { verb: "enable", active: true, effect: "Tokens can be registered for it again, within a second." },
] as const;

function switches(known: CatalogAdministration, { one, path, schema, viewOf }: Switched): Operation[] {
  return verbs.map(({ verb, active, effect }) =>
    operation({
      ...common,
      id: `${verb}${one === "application" ? "Application" : "Platform"}`,
      method: "POST",
      paths: [`${path}/{name}/${verb}`],
      summary: `${verb === "disable" ? "Disable" : "Enable"} a push ${one}`,
      description: effect,
      parameters: { name: "Its name." },
      replies: { 200: { description: `The ${one}, as changed.`, schema } },
      refusals: ["NOT_FOUND"],
      handle: async ({ parameters: { name = "" } }) =>
        replyOf(200, found(await known.change(name, { active }), one, name), viewOf),
    }),
  );
}

const applicationView = ({ name, active }: PushPlatform): ApplicationView => ({ name, active });

const platformView = ({ name, active, tokenRule }: PushPlatform): PlatformView => ({
  name,
  active,
  tokenRule: tokenRule ?? null,
});

const replyOf = (
  status: number,
  { record, event }: ChangedName,
  viewOf: (record: PushPlatform) => object,
): Reply => ({ status, json: viewOf(record), audit: event });
