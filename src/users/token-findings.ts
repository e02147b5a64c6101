import { getErrorMessage } from "@topicsync/lib/errors";
import type { OidcConfig } from "../config/config.ts";
import { findRolesFault, showClaim as show, toUser, type TokenClaims } from "./openid.ts";

/** A bearer token as it can be read without a key. */
export interface DecodedToken {
  readonly header: TokenClaims;
  readonly claims: TokenClaims;
}

/** Something about a token that keeps its user out, or without rights. */
export interface TokenFinding {
  /** Callers cannot add kinds. */
  readonly kind: "settings" | "signature" | "typ" | "iss" | "aud" | "exp" | "nbf" | "iat" | "user" | "roles";
  readonly message: string;
  /** What to set, or to ask of the provider; "" if that is obvious. */
  readonly advice: string;
  /** Whether the token is rejected for it; if not, its user has no rights. */
  readonly rejects: boolean;
}

/** How far the clocks of provider and service may differ. */
export const clockToleranceSeconds = 30;

/**
 * What is wrong with a token for these settings, all of it. The service decides with a library whether it
 * accepts a token, and reports these findings; so does `topicsync token explain`.
 */
export function listTokenFindings(
  { header, claims }: DecodedToken,
  config: OidcConfig,
  nowMs: number,
): readonly TokenFinding[] {
  const { iss, aud, client_id: client } = claims;
  const { issuer, audience, tokenType } = config;
  const findings: TokenFinding[] = [];
  const reject = (kind: TokenFinding["kind"], message: string, advice = ""): void => {
    findings.push({ kind, message, advice, rejects: true });
  };

  if (tokenType !== undefined && toMediaType(header["typ"]) !== toMediaType(tokenType))
    reject(
      "typ",
      `the header typ is ${show(header["typ"])}, but OIDC_TOKEN_TYPE is ${show(tokenType)}`,
      "Send an access token. If it is one, its provider does not mark them: unset OIDC_TOKEN_TYPE.",
    );
  if (iss !== issuer)
    reject(
      "iss",
      `the claim iss is ${show(iss)}, but OIDC_ISSUER is ${show(issuer)}`,
      adviseOnIssuer(claims),
    );
  if (![aud].flat().includes(audience)) {
    const unchecked =
      aud === undefined && client !== undefined ? `; ${show(client)} in client_id alone is not checked` : "";
    const message = `the claim aud is ${show(aud)}, but OIDC_AUDIENCE is ${show(audience)}${unchecked}`;
    reject("aud", message, adviseOnAudience(claims));
  }
  for (const kind of ["exp", "nbf", "iat"] as const) {
    const fault = findTimeFault(kind, claims[kind], nowMs / 1_000);
    if (fault !== undefined) reject(kind, `the claim ${kind} is ${fault}`, adviceOnTimes[kind]);
  }
  try {
    toUser(claims, config);
  } catch (error) {
    const others = userClaims.filter((name) => typeof claims[name] === "string" && name !== config.userClaim);
    const example = others.length === 0 ? "" : `, for example to ${others.join(" or ")}`;
    reject("user", getErrorMessage(error), `Set OIDC_USER_CLAIM${example}.`);
  }
  const fault = findRolesFault(claims, config);
  if (fault !== undefined) findings.push({ kind: "roles", ...fault, rejects: false });
  return findings;
}

/** Claims that name users, at one provider or another. */
const userClaims = ["sub", "upn", "unique_name", "username", "cognito:username", "preferred_username"];

/** The provider that made a token, if its tokens differ from what others send. */
export function recognizeProvider({ iss, token_use, apptype, appid }: TokenClaims) {
  const issuer = String(iss);
  if (/^https:\/\/(?:sts\.windows\.net|login\.microsoftonline\.(?:com|us))\//.test(issuer))
    return "Microsoft Entra";
  if (token_use !== undefined || issuer.startsWith("https://cognito-idp.")) return "Amazon Cognito";
  const isAdfs =
    /\/adfs(?:\/services\/trust)?$/i.test(issuer) || (apptype !== undefined && appid !== undefined);
  return isAdfs ? "AD FS" : undefined;
}

/** As `typ` is compared (RFC 7515, section 4.1.9). */
const toMediaType = (typ: unknown): string | undefined =>
  typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : undefined;

function adviseOnIssuer(claims: TokenClaims): string {
  const provider = recognizeProvider(claims);
  if (provider === "AD FS" && String(claims["iss"]).endsWith("/services/trust"))
    return "Access tokens of AD FS name its access_token_issuer, which is not the issuer of its discovery: send the ID token.";
  if (provider === "Microsoft Entra" && claims["ver"] === "1.0")
    return "Set requestedAccessTokenVersion to 2 in the manifest of the API's application, or OIDC_ISSUER to this iss.";
  return "If this is the provider to trust, set OIDC_ISSUER to its iss.";
}

function adviseOnAudience(claims: TokenClaims): string {
  const { aud, client_id: client } = claims;
  if (aud === undefined && recognizeProvider(claims) === "Amazon Cognito")
    return `Access tokens of Amazon Cognito have no aud: send the ID token, with OIDC_AUDIENCE=${show(client)}, or add aud by a pre token generation trigger.`;
  if (aud === "urn:microsoft:userinfo")
    return "The client asked AD FS for no resource: let it ask for topicsync's, or send the ID token.";
  return "Let the provider issue a token for topicsync. If this is one, set OIDC_AUDIENCE to its aud.";
}

function findTimeFault(kind: "exp" | "nbf" | "iat", time: unknown, now: number): string | undefined {
  if (time === undefined) return kind === "exp" ? "missing" : undefined;
  if (typeof time !== "number") return "not a number";
  if (kind === "exp" && time <= now - clockToleranceSeconds) return `in the past: ${showTime(time)}`;
  if (kind === "nbf" && time > now + clockToleranceSeconds) return `in the future: ${showTime(time)}`;
  return undefined;
}

const adviceOnTimes = {
  exp: "Get a new token.",
  nbf: "Compare the clocks of the provider and of this machine.",
  iat: "",
} as const;

/** The time of a claim in seconds, which may be out of the range of dates. */
export const showTime = (seconds: number): string =>
  Math.abs(seconds) <= 8_640_000_000_000 ? new Date(seconds * 1_000).toISOString() : String(seconds);
