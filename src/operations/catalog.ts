import {
  applicationListSchema,
  applicationSchema,
  newApplicationSchema,
  newPlatformSchema,
  platformListSchema,
  platformSchema,
  tokenRuleSchema,
  type ApplicationList,
  type NewApplication,
  type NewPlatform,
  type PlatformList,
  type TokenRuleBody,
} from "../../schemas/catalog.ts";
import {
  toApplicationView,
  toPlatformView,
  type CatalogAdministration,
  type CatalogKind,
  type CatalogUpdate,
  type PushPlatform,
} from "../installations/catalog.ts";
import { bodyRules } from "./framework/body.ts";
import { requireFound, requireFreeName } from "./framework/errors.ts";
import { operation, type Operation, type Reply } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";

const applicationsPath = "/api/topicsync/v1/applications";
const platformsPath = "/api/topicsync/v1/platforms";
const common = { access: "admin", tag: "catalog" } as const;

interface SwitchOptions {
  readonly kind: CatalogKind;
  readonly getAdministration: (services: OperationServices) => CatalogAdministration;
  readonly path: string;
  readonly schema: object;
  readonly toView: (record: PushPlatform) => object;
}

const switches = [
  {
    verb: "disable",
    active: false,
    effect: "Registrations and removals are rejected within a second. Existing tokens are not changed.",
  },
  { verb: "enable", active: true, effect: "Tokens can be registered again within a second." },
] as const;

function createSwitchOperations({
  kind,
  getAdministration,
  path,
  schema,
  toView,
}: SwitchOptions): Operation[] {
  return switches.map(({ verb, active, effect }) =>
    operation({
      ...common,
      id: `${verb}${kind === "application" ? "Application" : "Platform"}`,
      method: "POST",
      paths: [`${path}/{name}/${verb}`],
      summary: `${verb === "disable" ? "Disable" : "Enable"} a push ${kind}`,
      description: effect,
      parameters: { name: `Name of the ${kind}.` },
      replies: { 200: { description: `The changed ${kind}.`, schema } },
      rejections: ["NOT_FOUND"],
      handle: async ({ parameters: { name = "" } }, services) =>
        toReply(
          200,
          requireFound(await getAdministration(services).change(name, { active }), kind, name),
          toView,
        ),
    }),
  );
}

/** Lists, adds, disables and enables push applications. */
export const applicationOperations: readonly Operation[] = [
  operation({
    ...common,
    id: "listApplications",
    method: "GET",
    paths: [applicationsPath],
    summary: "List push applications",
    description: "Sorted by name.",
    replies: { 200: { description: "All push applications.", schema: applicationListSchema } },
    async handle(_call, { applications }) {
      const json: ApplicationList = { applications: (await applications.list()).map(toApplicationView) };
      return { status: 200, json };
    },
  }),
  operation({
    ...common,
    id: "addApplication",
    method: "POST",
    paths: [applicationsPath],
    summary: "Add a push application",
    description: "Tokens can be registered within a second.",
    body: bodyRules<NewApplication>(newApplicationSchema),
    replies: { 201: { description: "The new application.", schema: applicationSchema } },
    rejections: ["NAME_TAKEN"],
    handle: async ({ body: { name } }, { applications }) =>
      toReply(201, await requireFreeName(applications.add({ name }), name), toApplicationView),
  }),
  ...createSwitchOperations({
    kind: "application",
    getAdministration: ({ applications }) => applications,
    path: applicationsPath,
    schema: applicationSchema,
    toView: toApplicationView,
  }),
];

/** Lists, adds, disables and enables push platforms, and sets their token rules. */
export const platformOperations: readonly Operation[] = [
  operation({
    ...common,
    id: "listPlatforms",
    method: "GET",
    paths: [platformsPath],
    summary: "List push platforms",
    description: "Sorted by name.",
    replies: { 200: { description: "All push platforms.", schema: platformListSchema } },
    async handle(_call, { platforms }) {
      const json: PlatformList = { platforms: (await platforms.list()).map(toPlatformView) };
      return { status: 200, json };
    },
  }),
  operation({
    ...common,
    id: "addPlatform",
    method: "POST",
    paths: [platformsPath],
    summary: "Add a push platform",
    description: "Tokens can be registered within a second.",
    body: bodyRules<NewPlatform>(newPlatformSchema),
    replies: { 201: { description: "The new platform.", schema: platformSchema } },
    rejections: ["NAME_TAKEN"],
    handle: async ({ body: { name, tokenRule } }, { platforms }) =>
      toReply(
        201,
        await requireFreeName(platforms.add({ name, tokenRule: tokenRule ?? undefined }), name),
        toPlatformView,
      ),
  }),
  operation({
    ...common,
    id: "setTokenRule",
    method: "POST",
    paths: [`${platformsPath}/{name}/rule`],
    summary: "Set a platform's token rule",
    description: "Applies to new registrations. Tokens already registered are not changed.",
    parameters: { name: "Name of the platform." },
    body: bodyRules<TokenRuleBody>(tokenRuleSchema),
    replies: { 200: { description: "The changed platform.", schema: platformSchema } },
    rejections: ["NOT_FOUND"],
    handle: async ({ parameters: { name = "" }, body: { tokenRule } }, { platforms }) =>
      toReply(
        200,
        requireFound(await platforms.change(name, { tokenRule }), "platform", name),
        toPlatformView,
      ),
  }),
  ...createSwitchOperations({
    kind: "platform",
    getAdministration: ({ platforms }) => platforms,
    path: platformsPath,
    schema: platformSchema,
    toView: toPlatformView,
  }),
];

const toReply = (
  status: number,
  { record, event }: CatalogUpdate,
  toView: (record: PushPlatform) => object,
): Reply => ({ status, json: toView(record), audit: event });
