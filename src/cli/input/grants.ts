import { InvalidArgumentError, Option } from "commander";

import { grantRule, isGrant, rights } from "../../../schemas/rights.ts";
import { everyRole } from "../../users/user.ts";

/** An option that takes rights and roles; shell completion offers those without a namespace. */
export const createGrantOption = (flags: string, description: string): Option =>
  new Option(flags, description).choices([...everyRole, ...rights]).default([], "none");

export const collectGrant = (given: string, previous: string[]): string[] => [...previous, given];

/** Throws an InvalidArgumentError for what is not a right or role. */
export function parseGrant(given: string, previous: string[]): string[] {
  if (!isGrant(given)) throw new InvalidArgumentError(`It must be ${grantRule}.`);
  return collectGrant(given, previous);
}
