import { tokenDigest, type AuditEvent } from "@topicsync/lib/audit/audit";
import {
  deactivatedSchema,
  deactivationSchema,
  type Deactivated,
  type DeactivationBody,
} from "../../schemas/installations/deactivation.ts";
import {
  importedInstallationsSchema,
  installationImportSchema,
  maxImportBytes,
  type InstallationImportBody,
} from "../../schemas/installations/import.ts";
import {
  installationListSchema,
  installationQuerySchema,
  type InstallationList,
  type InstallationListQuery,
} from "../../schemas/installations/list.ts";
import {
  ownInstallationQuerySchema,
  ownInstallationsSchema,
  type OwnInstallationQuery,
  type OwnInstallations,
} from "../../schemas/installations/own.ts";
import { lookedUpSchema, lookUpSchema, type LookUpBody } from "../../schemas/installations/look-up.ts";
import {
  registrationSchema,
  removalSchema,
  type Registration,
  type Removal,
} from "../../schemas/installations/installation.ts";
import { toDeactivationEvent } from "../installations/deactivation.ts";
import { toInstallationView, type InstallationKey } from "../installations/installation.ts";
import { hasRight } from "../users/rights.ts";
import { bodyRules } from "./framework/body.ts";
import { HttpError } from "./framework/errors.ts";
import { operation, versioned, type Operation } from "./framework/operation.ts";
import { queryRules } from "./framework/query.ts";

const parameters = { application: "Name of the push application, as in `sys_push_application`." };
const adminPath = "/api/topicsync/v1/installations";

const registerInstallation = operation({
  id: "registerInstallation",
  method: "POST",
  paths: versioned("/api/now", "/push/{application}/installation"),
  access: "user",
  crossOrigin: true,
  tag: "push",
  summary: "Register or update a push token",
  description:
    "Assigns the token to the caller and activates it. Apps register again to show that they are still installed.",
  parameters,
  body: bodyRules<Registration>(registrationSchema, { wrongTypeStatus: 400 }),
  replies: { 200: { description: "The token is registered and active." } },
  rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM", "BAD_TOKEN"],
  async handle({ parameters: { application = "" }, body, user }, { installations }) {
    const { token, previousToken, surplus } = await installations.register(application, body, user);
    const key = { application, platform: body.platform, token };
    const event = toRegistrationEvent(key, previousToken);
    if (surplus === 0) return { status: 200, audit: event };
    const limited = {
      action: "installations.limited",
      application,
      user: user.name,
      count: surplus,
    } as const;
    return { status: 200, audit: [event, limited] };
  },
});

const removeInstallation = operation({
  id: "removeInstallation",
  method: "POST",
  paths: versioned("/api/now", "/push/{application}/removeInstallation"),
  access: "user",
  crossOrigin: true,
  tag: "push",
  summary: "Deactivate push tokens",
  description:
    "Deactivates the caller's own tokens for the application and platform, regardless of the caller's roles; with `token`, only that one. With `scope` \"all\", all users' tokens are deactivated, in batches of a few hundred; if interrupted, send the request again to finish. This requires the right `installations.write-all`. No record is deleted.",
  parameters,
  body: bodyRules<Removal>(removalSchema, { wrongTypeStatus: 400 }),
  replies: { 200: { description: "The tokens are inactive. Also returned when no token was registered." } },
  rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM", "BAD_TOKEN"],
  async handle({ parameters: { application = "" }, body, user }, { installations }) {
    const { platform, scope } = body;
    if (scope === "all" && !hasRight(user, "installations.write-all")) {
      throw new HttpError("FORBIDDEN", `The user "${user.name}" may not remove the tokens of all users.`, {
        detail: 'A removal with the scope "all" requires the right installations.write-all.',
      });
    }
    const token = await installations.remove(application, body, user);
    const audit: AuditEvent = {
      action: "installations.removed",
      application,
      platform,
      of: scope === "all" ? "everybody" : "caller",
      ...(token === undefined ? {} : { tokenDigest: tokenDigest(token) }),
    };
    return { status: 200, audit };
  },
});

const listOwnInstallations = operation({
  id: "listOwnInstallations",
  method: "GET",
  paths: versioned("/api/now", "/push/my/installations"),
  access: "user",
  crossOrigin: true,
  tag: "push",
  summary: "List the caller's push tokens",
  description: "The caller's own installations, sorted by id, with shortened tokens.",
  query: queryRules<OwnInstallationQuery>(ownInstallationQuerySchema),
  replies: { 200: { description: "A page of installations.", schema: ownInstallationsSchema } },
  async handle({ query: { limit, after, ...filter }, user }, { installationListing }) {
    const page = await installationListing.findPage({ ...filter, user: user.name }, { after, limit });
    const json: OwnInstallations = {
      // Who had a telephone before is not for its new owner to know.
      installations: page.installations.map((one) =>
        toInstallationView({ ...one, previousOwners: [] }, { fullTokens: false }),
      ),
      next: page.next ?? null,
    };
    return { status: 200, json };
  },
});

export const listInstallations = operation({
  id: "listInstallations",
  method: "GET",
  paths: [adminPath],
  access: "installations.read-tokens",
  tag: "push",
  summary: "List push tokens",
  description:
    "Sorted by id, which never changes. A token registered while you page may be on a later page or on none. Tokens are shortened unless `fullTokens` is true. A request searches for about a second; if few installations match, a page may be short or empty while `next` is set.",
  query: queryRules<InstallationListQuery>(installationQuerySchema),
  replies: { 200: { description: "A page of installations.", schema: installationListSchema } },
  async handle({ query: { unseenSince, fullTokens, limit, after, ...filter } }, { installationListing }) {
    const { installations, next, scanned } = await installationListing.findPage(
      { ...filter, unseenSince: unseenSince === undefined ? undefined : new Date(unseenSince) },
      { after, limit },
    );
    const json: InstallationList = {
      installations: installations.map((one) => toInstallationView(one, { fullTokens })),
      next: next ?? null,
      scanned,
    };
    const audit: AuditEvent = { action: "installations.read-tokens", count: installations.length };
    return { status: 200, json, ...(fullTokens && installations.length > 0 ? { audit } : {}) };
  },
});

const lookUpInstallations = operation({
  id: "lookUpInstallations",
  method: "POST",
  paths: [`${adminPath}/look-up`],
  access: "installations.read-tokens",
  tag: "push",
  summary: "Find the active push tokens of users",
  description: "For programs that send push notifications. Read-only, and recorded in the audit log.",
  body: bodyRules<LookUpBody>(lookUpSchema),
  replies: { 200: { description: "A page of tokens.", schema: lookedUpSchema } },
  rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM"],
  async handle({ body }, { lookUp }) {
    const json = await lookUp(body);
    const { application, platform = null, users } = body;
    const count = json.installations.length;
    const audit: AuditEvent = {
      ...{ action: "installations.looked-up", application, platform, count },
      users: users.length,
    };
    return { status: 200, json, audit };
  },
});

export const deactivateInstallations = operation({
  id: "deactivateInstallations",
  method: "POST",
  paths: [`${adminPath}/deactivate`],
  access: "installations.write-all",
  tag: "push",
  summary: "Deactivate push tokens",
  description:
    "Deactivates these installations and records the reason. Registering a token again reactivates it.",
  body: bodyRules<DeactivationBody>(deactivationSchema),
  replies: { 200: { description: "The number of deactivated installations.", schema: deactivatedSchema } },
  async handle({ body: { ids, reason, unseenSince } }, { installationDeactivator }) {
    const deactivated = await installationDeactivator.deactivateByIds(
      ids,
      reason,
      unseenSince === undefined ? undefined : new Date(unseenSince),
    );
    const json: Deactivated = { deactivated: deactivated.length };
    const audit = deactivated.map((key) => toDeactivationEvent(key, reason));
    return { status: 200, json, ...(audit.length === 0 ? {} : { audit }) };
  },
});

export const importInstallations = operation({
  id: "importInstallations",
  method: "POST",
  paths: [`${adminPath}/import`],
  access: "installations.write-all",
  tag: "push",
  summary: "Import push tokens",
  description:
    "Stores installations as they are listed with `fullTokens`, of any user. Of two records of a token, the one with the later `updatedOn` wins as a whole, so the request can be repeated. Applications and platforms must exist, active or not.",
  body: bodyRules<InstallationImportBody>(installationImportSchema, { maxBytes: maxImportBytes }),
  replies: { 200: { description: "What was stored.", schema: importedInstallationsSchema } },
  async handle({ body: { installations, dryRun = false } }, { importInstallations: store }) {
    const json = await store(installations, { dryRun });
    const count = dryRun ? 0 : json.added + json.updated;
    const audit: AuditEvent = { action: "installations.imported", count };
    return { status: 200, json, ...(count > 0 && { audit }) };
  },
});

function toRegistrationEvent(
  { application, platform, token }: InstallationKey,
  previousToken: string | undefined,
): AuditEvent {
  return {
    action: "installation.registered",
    application,
    platform,
    tokenDigest: tokenDigest(token),
    ...(previousToken === undefined ? {} : { replacesDigest: tokenDigest(previousToken) }),
  };
}

/** Registration and removal (specification 4.1 and 4.2), listing, look-up, deactivation, import. */
export const installationOperations: readonly Operation[] = [
  registerInstallation,
  removeInstallation,
  listOwnInstallations,
  listInstallations,
  lookUpInstallations,
  deactivateInstallations,
  importInstallations,
];
