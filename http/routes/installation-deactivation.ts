import {
  deactivatedSchema,
  deactivationSchema,
  type Deactivated,
  type DeactivationBody,
} from "../../schemas/installation-deactivation.ts";
import { deactivationEvents, type InstallationDeactivator } from "../../src/installations/deactivation.ts";
import { roles } from "../../src/users/user.ts";
import { createValidator } from "../../src/lib/validation.ts";
import { operation, type Operation } from "../framework/operation.ts";

const checkDeactivation = createValidator<DeactivationBody>(deactivationSchema);

/** `POST /api/topicsync/v1/installations/deactivate`: push tokens that an administrator chose. */
export const deactivationOperations = (deactivator: InstallationDeactivator): readonly Operation[] => [
  operation<DeactivationBody>({
    id: "deactivateInstallations",
    method: "POST",
    paths: ["/api/topicsync/v1/installations/deactivate"],
    access: roles.pushAdmin,
    tag: "push",
    summary: "Deactivate push tokens",
    description:
      "Deactivates these installations and records the reason. Registering a token again reactivates it.",
    body: { schema: deactivationSchema, check: checkDeactivation, wrongTypeStatus: 415 },
    replies: { 200: { description: "The number of deactivated installations.", schema: deactivatedSchema } },
    async handle({ body: { ids, reason } }) {
      const deactivated = await deactivator.deactivate(ids, reason);
      const json: Deactivated = { deactivated: deactivated.length };
      const audit = deactivationEvents(deactivated, reason);
      return { status: 200, json, ...(audit.length === 0 ? {} : { audit }) };
    },
  }),
];
