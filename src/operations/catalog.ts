import {
  applicationDetailSchema,
  applicationListSchema,
  applicationSchema,
  newApplicationSchema,
  newPlatformSchema,
  platformDetailSchema,
  platformListSchema,
  platformSchema,
  tokenRuleSchema,
  type NewApplication,
  type NewPlatform,
  type TokenRuleBody,
} from "../../schemas/catalog.ts";
import type { InstallationCount } from "../../schemas/overview.ts";
import {
  toApplicationView,
  toPlatformView,
  type CatalogKind,
  type CatalogUpdate,
} from "../installations/catalog.ts";
import { bodyRules } from "./framework/body.ts";
import { requireFound, requireFreeName } from "./framework/errors.ts";
import { operation, type Operation, type Reply } from "./framework/operation.ts";
import type { OperationServices } from "./framework/services.ts";

const common = { access: "admin", tag: "catalog" } as const;

/** What is different for applications and platforms. */
const catalogs = {
  application: {
    ...{ plural: "applications" as const, id: "Application", toView: toApplicationView },
    ...{ schema: applicationSchema, listSchema: applicationListSchema },
    ...{ newSchema: newApplicationSchema, detailSchema: applicationDetailSchema },
  },
  platform: {
    ...{ plural: "platforms" as const, id: "Platform", toView: toPlatformView },
    ...{ schema: platformSchema, listSchema: platformListSchema },
    ...{ newSchema: newPlatformSchema, detailSchema: platformDetailSchema },
  },
} as const;

/** The operations that applications and platforms have both. */
function createCatalogOperations(kind: CatalogKind) {
  const { plural, id, toView, schema, listSchema, newSchema, detailSchema } = catalogs[kind];
  const path = `/api/topicsync/v1/${plural}`;
  const oneOf = {
    ...common,
    parameters: { name: `Name of the ${kind}.` },
    rejections: ["NOT_FOUND"],
  } as const;

  const createSwitch = (verb: "Disable" | "Enable", active: boolean, description: string): Operation =>
    operation({
      ...oneOf,
      id: `${verb.toLowerCase()}${id}`,
      method: "POST",
      paths: [`${path}/{name}/${verb.toLowerCase()}`],
      summary: `${verb} a push ${kind}`,
      description,
      replies: { 200: { description: `The changed ${kind}.`, schema } },
      handle: async ({ parameters: { name = "" } }, services) =>
        toReply(kind, requireFound(await services[plural].change(name, { active }), kind, name)),
    });

  return {
    list: operation({
      ...common,
      id: `list${id}s`,
      method: "GET",
      paths: [path],
      summary: `List push ${plural}`,
      description: "Sorted by name.",
      replies: { 200: { description: `All push ${plural}.`, schema: listSchema } },
      async handle(_call, services) {
        return { status: 200, json: { [plural]: (await services[plural].list()).map(toView) } };
      },
    }),

    add: operation({
      ...common,
      id: `add${id}`,
      method: "POST",
      paths: [path],
      summary: `Add a push ${kind}`,
      description: "Tokens can be registered within a second.",
      body: bodyRules<NewApplication & Partial<NewPlatform>>(newSchema),
      replies: { 201: { description: `The new ${kind}.`, schema } },
      rejections: ["NAME_TAKEN"],
      async handle({ body: { name, tokenRule } }, services) {
        const adding = services[plural].add({ name, tokenRule: tokenRule ?? undefined });
        return { ...toReply(kind, await requireFreeName(adding, name)), status: 201 };
      },
    }),

    get: operation({
      ...oneOf,
      id: `get${id}`,
      method: "GET",
      paths: [`${path}/{name}`],
      summary: `Get a push ${kind}`,
      description: "With the number of its push tokens.",
      replies: { 200: { description: `The ${kind}.`, schema: detailSchema } },
      async handle({ parameters: { name = "" } }, services) {
        const found = requireFound(await services[plural].find(name), kind, name);
        const installations = sumCounts(await countInstallations(services, kind, name));
        return { status: 200, json: { ...toView(found), installations } };
      },
    }),

    disable: createSwitch(
      "Disable",
      false,
      "Registrations and removals are rejected within a second. Existing tokens are not changed.",
    ),
    enable: createSwitch("Enable", true, "Tokens can be registered again within a second."),
  };
}

export const applications = createCatalogOperations("application");
export const platforms = createCatalogOperations("platform");

export const setTokenRule = operation({
  ...common,
  id: "setTokenRule",
  method: "POST",
  paths: ["/api/topicsync/v1/platforms/{name}/rule"],
  summary: "Set a platform's token rule",
  description: "Applies to new registrations. Tokens already registered are not changed.",
  parameters: { name: "Name of the platform." },
  body: bodyRules<TokenRuleBody>(tokenRuleSchema),
  replies: { 200: { description: "The changed platform.", schema: platformSchema } },
  rejections: ["NOT_FOUND"],
  handle: async ({ parameters: { name = "" }, body: { tokenRule } }, services) =>
    toReply("platform", requireFound(await services.platforms.change(name, { tokenRule }), "platform", name)),
});

/** Lists, shows, adds, disables and enables push applications. */
export const applicationOperations: readonly Operation[] = Object.values(applications);

/** The same for push platforms, and sets their token rules. */
export const platformOperations: readonly Operation[] = [...Object.values(platforms), setTokenRule];

const toReply = (kind: CatalogKind, { record, event }: CatalogUpdate): Reply => ({
  status: 200,
  json: catalogs[kind].toView(record),
  audit: event,
});

/** Names every application for a platform's count, since the index begins with the application. */
async function countInstallations(
  { installationReader, applications: all }: OperationServices,
  kind: CatalogKind,
  name: string,
): Promise<InstallationCount[]> {
  if (kind === "application") return installationReader.countByScope({ applications: [name] });
  const names = (await all.list()).map((one) => one.name);
  return installationReader.countByScope({ applications: names, platforms: [name] });
}

const sumCounts = (counts: readonly InstallationCount[]) => ({
  active: counts.reduce((sum, { active }) => sum + active, 0),
  inactive: counts.reduce((sum, { inactive }) => sum + inactive, 0),
});
