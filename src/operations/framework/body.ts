import { createValidator } from "@topicsync/lib/validation";
import type { BodyRules } from "./operation.ts";

/** Rules from the schema of a body. `Body` is the type derived from it. */
export const bodyRules = <Body>(
  schema: object,
  more: Partial<Pick<BodyRules<Body>, "parse" | "wrongTypeStatus" | "maxBytes">> = {},
): BodyRules<Body> => ({ schema, check: createValidator<Body>(schema), wrongTypeStatus: 415, ...more });
