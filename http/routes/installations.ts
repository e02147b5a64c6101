import {
  deactivatedSchema,
  deactivationSchema,
  type Deactivated,
  type DeactivationBody,
} from "../../schemas/installation-deactivation.ts";
import {
  installationListSchema,
  installationQuerySchema,
  type InstallationList,
  type InstallationQuery,
} from "../../schemas/installation-list.ts";
import { lookedUpSchema, lookUpSchema, type LookUpBody } from "../../schemas/installation-look-up.ts";
import {
  registrationSchema,
  removalSchema,
  type Registration,
  type Removal,
} from "../../schemas/installation.ts";
import { toDeactivationEvents } from "../../src/installations/deactivation.ts";
import { toInstallationView, type InstallationKey } from "../../src/installations/installation.ts";
import type { InstallationListing } from "../../src/installations/listing.ts";
import type { LookUpTokens } from "../../src/installations/look-up.ts";
import type { InstallationService } from "../../src/installations/service.ts";
import type { InstallationDeactivator } from "../../src/installations/stores.ts";
import { tokenDigest, type AuditEvent } from "../../src/lib/audit.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { hasRight } from "../../src/users/rights.ts";
import { HttpError } from "../framework/errors.ts";
import { operation, versioned, type Operation } from "../framework/operation.ts";
import { queryRules } from "../framework/query.ts";

export interface InstallationServices {
  readonly service: InstallationService;
  readonly listing: InstallationListing;
  readonly lookUp: LookUpTokens;
  readonly deactivator: Pick<InstallationDeactivator, "deactivateByIds">;
}

const checkRegistration = createValidator<Registration>(registrationSchema);
const checkRemoval = createValidator<Removal>(removalSchema);
const checkDeactivation = createValidator<DeactivationBody>(deactivationSchema);
const checkLookUp = createValidator<LookUpBody>(lookUpSchema);

const parameters = { application: "Name of the push application, as in `sys_push_application`." };
const adminPath = "/api/topicsync/v1/installations";

const registerInstallation = ({ service }: InstallationServices): Operation =>
  operation<Registration>({
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
    body: { schema: registrationSchema, check: checkRegistration, wrongTypeStatus: 400 },
    replies: { 200: { description: "The token is registered and active." } },
    rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM", "BAD_TOKEN"],
    async handle({ parameters: { application = "" }, body, user }) {
      const { token, previousToken, surplus } = await service.register(application, body, user);
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

const removeInstallation = ({ service }: InstallationServices): Operation =>
  operation<Removal>({
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
    body: { schema: removalSchema, check: checkRemoval, wrongTypeStatus: 400 },
    replies: { 200: { description: "The tokens are inactive. Also returned when no token was registered." } },
    rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM", "BAD_TOKEN"],
    async handle({ parameters: { application = "" }, body, user }) {
      const { platform, scope } = body;
      if (scope === "all" && !hasRight(user, "installations.write-all")) {
        throw new HttpError("FORBIDDEN", `The user "${user.name}" may not remove the tokens of all users.`, {
          detail: 'A removal with the scope "all" requires the right installations.write-all.',
        });
      }
      const token = await service.remove(application, body, user);
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

const listInstallations = ({ listing }: InstallationServices): Operation =>
  operation({
    id: "listInstallations",
    method: "GET",
    paths: [adminPath],
    access: "installations.read-tokens",
    tag: "push",
    summary: "List push tokens",
    description:
      "Sorted by id, which never changes. A token registered while you page may be on a later page or on none. Tokens are shortened unless `fullTokens` is true. A request searches for about a second; if few installations match, a page may be short or empty while `next` is set.",
    query: queryRules<InstallationQuery>(installationQuerySchema),
    replies: { 200: { description: "A page of installations.", schema: installationListSchema } },
    async handle({ query: { unseenSince, fullTokens, limit, after, ...filter } }) {
      const { installations, next, scanned } = await listing.findPage(
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

const lookUpInstallations = ({ lookUp }: InstallationServices): Operation =>
  operation<LookUpBody>({
    id: "lookUpInstallations",
    method: "POST",
    paths: [`${adminPath}/look-up`],
    access: "installations.read-tokens",
    tag: "push",
    summary: "Find the active push tokens of users",
    description: "For programs that send push notifications. Read-only, and recorded in the audit log.",
    body: { schema: lookUpSchema, check: checkLookUp, wrongTypeStatus: 415 },
    replies: { 200: { description: "A page of tokens.", schema: lookedUpSchema } },
    rejections: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM"],
    async handle({ body }) {
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

const deactivateInstallations = ({ deactivator }: InstallationServices): Operation =>
  operation<DeactivationBody>({
    id: "deactivateInstallations",
    method: "POST",
    paths: [`${adminPath}/deactivate`],
    access: "installations.write-all",
    tag: "push",
    summary: "Deactivate push tokens",
    description:
      "Deactivates these installations and records the reason. Registering a token again reactivates it.",
    body: { schema: deactivationSchema, check: checkDeactivation, wrongTypeStatus: 415 },
    replies: { 200: { description: "The number of deactivated installations.", schema: deactivatedSchema } },
    async handle({ body: { ids, reason } }) {
      const deactivated = await deactivator.deactivateByIds(ids, reason);
      const json: Deactivated = { deactivated: deactivated.length };
      const audit = toDeactivationEvents(deactivated, reason);
      return { status: 200, json, ...(audit.length === 0 ? {} : { audit }) };
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

/** Registration and removal (specification 4.1 and 4.2), listing, look-up and deactivation of push tokens. */
export const installationOperations = (services: InstallationServices): readonly Operation[] => [
  registerInstallation(services),
  removeInstallation(services),
  listInstallations(services),
  lookUpInstallations(services),
  deactivateInstallations(services),
];
