import type { OidcConfig } from "./openid.ts";
import { everyRole, type User } from "./user.ts";

/** A token that is not taken, and why. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

/** What an OpenID provider says of somebody, by the names of the claims. */
export type TokenClaims = Readonly<Record<string, unknown>>;

const maxName = 200;

/**
 * The user of whom a provider says this. Its name begins with `oidc:`, and a stored user's name has no colon, so neither can
 * be taken for the other. Throws InvalidTokenError when nobody is named.
 */
export function toUser(claims: TokenClaims, { userClaim, rolesClaim }: OidcConfig): User {
  const name = getClaim(claims, userClaim);
  if (typeof name !== "string" || !isName(name))
    throw new InvalidTokenError(`the claim ${userClaim} is no user's name`);
  const given = getClaim(claims, rolesClaim) ?? [];
  const listed: unknown[] = typeof given === "string" ? given.split(" ") : Array.isArray(given) ? given : [];
  return { name: `oidc:${name}`, roles: everyRole.filter((role) => listed.includes(role)), active: true };
}

const isName = (text: string): boolean =>
  text !== "" && text.length <= maxName && text.isWellFormed() && !/\p{Cc}/u.test(text);

/** The claim of this very name (which may have dots: `https://example.org/roles`), or else the one at this path. */
export function getClaim(claims: TokenClaims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let at: unknown = claims;
  for (const name of claim.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
