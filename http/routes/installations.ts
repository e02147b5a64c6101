import {
  registrationSchema,
  removalSchema,
  type Registration,
  type Removal,
} from "../../schemas/installation.ts";
import { tokenDigest, type AuditEvent } from "../../src/lib/audit.ts";
import type { InstallationKey } from "../../src/installations/stores.ts";
import type { InstallationService } from "../../src/installations/service.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { operation, versioned, type Operation } from "../framework/operation.ts";

const checkRegistration = createValidator<Registration>(registrationSchema);
const checkRemoval = createValidator<Removal>(removalSchema);

const parameters = { application: "Name of the push application, as in `sys_push_application`." };

/** `POST …/push/{application}/installation` and `…/removeInstallation` (specification 4.1 and 4.2). */
export const installationOperations = (installations: InstallationService): readonly Operation[] => [
  operation<Registration>({
    id: "registerInstallation",
    method: "POST",
    paths: versioned("/api/now", "/push/{application}/installation"),
    access: "user",
    tag: "push",
    summary: "Register or update a push token",
    description:
      "Assigns the token to the caller and activates it. Apps register again to show that they are still installed.",
    parameters,
    body: { schema: registrationSchema, check: checkRegistration, wrongTypeStatus: 400 },
    replies: { 200: { description: "The token is registered and active." } },
    refusals: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM", "BAD_TOKEN"],
    async handle({ parameters: { application = "" }, body, user }) {
      const { token, previousToken } = await installations.register(application, body, user);
      const { platform } = body;
      return { status: 200, audit: registered({ application, platform, token }, previousToken) };
    },
  }),
  operation<Removal>({
    id: "removeInstallation",
    method: "POST",
    paths: versioned("/api/now", "/push/{application}/removeInstallation"),
    access: "user",
    tag: "push",
    summary: "Deactivate push tokens",
    description:
      "Deactivates all of the caller's tokens for the application and platform, or all users' tokens if the caller has the role push_admin. No record is deleted. All users' tokens are deactivated in batches of a few hundred; if interrupted, send the request again to finish.",
    parameters,
    body: { schema: removalSchema, check: checkRemoval, wrongTypeStatus: 400 },
    replies: { 200: { description: "The tokens are inactive. Also returned when no token was registered." } },
    refusals: ["UNKNOWN_APPLICATION", "UNKNOWN_PLATFORM"],
    async handle({ parameters: { application = "" }, body, user }) {
      await installations.remove(application, body, user);
      const of = user.roles.includes(roles.pushAdmin) ? "everybody" : "caller";
      const { platform } = body;
      return { status: 200, audit: { action: "installations.removed", application, platform, of } };
    },
  }),
];

function registered(
  { application, platform, token }: InstallationKey,
  previousToken: string | undefined,
): AuditEvent {
  const event = {
    action: "installation.registered",
    application,
    platform,
    tokenDigest: tokenDigest(token),
  } as const;
  return previousToken === undefined ? event : { ...event, replacesDigest: tokenDigest(previousToken) };
}
