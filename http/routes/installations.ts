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
      "Makes the token active and the caller's, whatever it was before. Registering it again is how an app says that it is still there.",
    parameters,
    body: { schema: registrationSchema, check: checkRegistration, wrongTypeStatus: 400 },
    replies: { 200: { description: "The token is stored and active." } },
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
      "Deactivates all the caller's tokens of the application on the platform; for a caller with the role push_admin, everybody's. Nothing is deleted. Everybody's tokens are deactivated some hundred at a time: where that is interrupted, part is done, and sending it again does the rest.",
    parameters,
    body: { schema: removalSchema, check: checkRemoval, wrongTypeStatus: 400 },
    replies: { 200: { description: "None of the tokens is active any more, also when there was none." } },
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
