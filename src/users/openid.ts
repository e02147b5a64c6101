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
export function toUser(claims: TokenClaims, config: OidcConfig): User {
  const { userClaim, rolesClaim } = config;
  const name = getClaim(claims, userClaim);
  if (typeof name !== "string" || !isName(name))
    throw new InvalidTokenError(
      `the claim ${userClaim} is ${name === undefined ? "missing" : "not a user name"}`,
    );
  const fault = getClaim(claims, rolesClaim) === undefined ? findRolesFault(claims, config) : undefined;
  return {
    name: `${openIdPrefix}${name}`,
    roles: readRoles(claims, config),
    active: true,
    ...(fault && { rolesFault: `${toSentence(fault.message)} ${fault.advice}`.trim() }),
  };
}

function readRoles(claims: TokenClaims, { rolesClaim, roleMap }: OidcConfig): string[] {
  const listed = listValues(getClaim(claims, rolesClaim));
  return [
    ...new Set([
      ...everyRole.filter((role) => listed.includes(role)),
      ...listed.flatMap((value) => (typeof value === "string" ? (roleMap.get(value) ?? []) : [])),
    ]),
  ];
}

/** A text is a list separated by spaces, or one value with spaces: AD FS sends a single group as a text. */
const listValues = (claim: unknown): readonly unknown[] =>
  typeof claim === "string" ? [claim, ...claim.split(" ")] : Array.isArray(claim) ? claim : [];

/** Claims in which providers send roles and groups. */
const commonRolesClaims = ["roles", "role", "groups", "group", "cognito:groups", "realm_access.roles"];

/** Why a token gives its user no rights, and what to set; undefined if it gives some. */
export function findRolesFault(
  claims: TokenClaims,
  config: OidcConfig,
): { readonly message: string; readonly advice: string } | undefined {
  const { rolesClaim, audience } = config;
  if (readRoles(claims, config).length > 0) return undefined;
  const given = getClaim(claims, rolesClaim);
  if (given !== undefined) {
    const message = `the claim "${rolesClaim}" (OIDC_ROLES_CLAIM) has no role of topicsync and nothing that OIDC_ROLE_MAP names: ${showClaim(given)}`;
    return { message, advice: adviseOnRole(String(listValues(given)[0])) };
  }
  const others = [...commonRolesClaims, `resource_access.${audience}.roles`].filter(
    (name) => getClaim(claims, name) !== undefined,
  );
  const overage = describeOverage(claims, rolesClaim);
  return {
    message: `the token has no claim "${rolesClaim}" (OIDC_ROLES_CLAIM)${overage}`,
    advice: [
      ...(overage === "" ? [] : ["Let the provider send only the groups of the application, or app roles."]),
      ...(others.length === 0 ? [] : [`Set OIDC_ROLES_CLAIM, for example to ${others.join(" or ")}.`]),
    ].join(" "),
  };
}

/** Microsoft Entra only refers to groups if there are many (OpenID Connect Core 1.0, section 5.6.2). */
function describeOverage({ _claim_names: elsewhere, hasgroups }: TokenClaims, rolesClaim: string): string {
  const isElsewhere =
    typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, rolesClaim);
  // In tokens of the implicit flow.
  const hasGroups = rolesClaim === "groups" && (hasgroups === true || hasgroups === "true");
  if (!isElsewhere && !hasGroups) return "";
  return `, but ${isElsewhere ? "_claim_names" : "hasgroups"}: the user is in too many groups`;
}

function adviseOnRole(value: string): string {
  if (/^S-1-\d/.test(value))
    return "They are SIDs: name them in OIDC_ROLE_MAP, or let AD FS send the names of the groups.";
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value))
    return "They are ids of groups: name them in OIDC_ROLE_MAP, or use app roles with OIDC_ROLES_CLAIM=roles.";
  return "Name one in OIDC_ROLE_MAP, or let the provider assign a role of topicsync to the user.";
}

export const toSentence = (message: string): string =>
  `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;

const maxShownCharacters = 200;

/** A claim as JSON, cut: a token is never shown whole. */
export const showClaim = (value: unknown): string =>
  value === undefined ? "missing" : JSON.stringify(value).slice(0, maxShownCharacters);

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
