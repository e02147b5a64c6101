import type { SignInFailureReason } from "../../schemas/session.ts";
import { openIdPrefix } from "../../schemas/user.ts";
import type { OidcConfig } from "../config/config.ts";
import { everyRole, type User } from "./user.ts";

/** The token cannot be accepted; the message says why. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

/** The token is malformed, or not signed by the issuer. */
export class ForgedTokenError extends InvalidTokenError {}

/** A sign-in with OpenID failed. The message is for the log; the console explains the reason to the user. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly reason: SignInFailureReason;

  constructor(reason: SignInFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** The claims of a user, by name. */
export type TokenClaims = Readonly<Record<string, unknown>>;

const maxNameLength = 200;

/**
 * Reads the user from the claims. The name begins with `openIdPrefix`; names of stored users contain no
 * colon, so the two cannot collide. Throws InvalidTokenError when the claims name nobody.
 */
export function toUser(claims: TokenClaims, { userClaim, rolesClaim, roleMap }: OidcConfig): User {
  const name = getClaim(claims, userClaim);
  if (typeof name !== "string" || !isName(name))
    throw new InvalidTokenError(`the claim ${userClaim} is not a user name`);
  const given = getClaim(claims, rolesClaim);
  const listed: unknown[] = typeof given === "string" ? given.split(" ") : Array.isArray(given) ? given : [];
  return {
    name: `${openIdPrefix}${name}`,
    roles: [
      ...new Set([
        ...everyRole.filter((role) => listed.includes(role)),
        ...listed.flatMap((value) => (typeof value === "string" ? (roleMap.get(value) ?? []) : [])),
      ]),
    ],
    active: true,
    ...(given === undefined ? { rolesFault: describeMissingRoles(claims, rolesClaim) } : {}),
  };
}

/** Microsoft Entra only refers to groups if there are many (OpenID Connect Core 1.0, section 5.6.2). */
function describeMissingRoles({ _claim_names: elsewhere }: TokenClaims, rolesClaim: string): string {
  const isElsewhere =
    typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, rolesClaim);
  const missing = `The token has no claim "${rolesClaim}" (OIDC_ROLES_CLAIM)`;
  return isElsewhere
    ? `${missing}, but _claim_names: the user is in too many groups. Let the provider send only the groups of the application, or app roles.`
    : `${missing}.`;
}

const isName = (text: string): boolean =>
  text !== "" && text.length <= maxNameLength && text.isWellFormed() && !/\p{Cc}/u.test(text);

/**
 * Returns the claim of exactly this name (`https://example.org/roles` contains dots), else the claim at this
 * path.
 */
export function getClaim(claims: TokenClaims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let current: unknown = claims;
  for (const name of claim.split(".")) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}
