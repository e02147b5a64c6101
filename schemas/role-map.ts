import type { FromSchema } from "json-schema-to-ts";

import { grantSchema } from "./rights.ts";

/** The file of `OIDC_ROLE_MAP`: rights and roles for values of the roles claim. */
export const roleMapSchema = {
  $id: "role-map",
  type: "object",
  required: [],
  additionalProperties: { type: "array", items: grantSchema, maxItems: 100 },
} as const;

export type RoleMap = FromSchema<typeof roleMapSchema>;
