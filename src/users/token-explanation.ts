import { getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import type { OidcConfig } from "../config/config.ts";
import { createVerifyToken, decodeToken, toSignatureFinding } from "./bearer-token.ts";
import { ForgedTokenError, InvalidTokenError, showClaim, type TokenClaims } from "./openid.ts";
import { listTokenFindings, recognizeProvider, type TokenFinding } from "./token-findings.ts";

/**
 * Verifies a token as the service does, and lists all that is wrong with it. Without settings it is read as
 * if they were those that it needs. Throws InvalidTokenError for what is not a signed JWT.
 */
export async function explainToken(token: string, config: OidcConfig | undefined) {
  const { header, claims } = decodeToken(token);
  const settings = config ?? assumeConfig(claims);
  const { signature, reason = "", user } = await checkSignature(token, config);
  const findings = [
    ...(config === undefined ? [toSettingsFinding(settings)] : []),
    ...(signature === "invalid" ? [toSignatureFinding(reason)] : []),
    ...listTokenFindings({ header, claims }, settings, Date.now()),
  ];
  const isRejected = signature !== "unchecked" || findings.some(({ rejects }) => rejects);
  return {
    provider: recognizeProvider(claims) ?? null,
    // It may also contain certificates.
    header: { alg: header["alg"], typ: header["typ"], kid: header["kid"] },
    claims,
    signature,
    reason,
    findings,
    /** Null if that depends on the signature, which was not checked. */
    accepted: user !== undefined || (isRejected ? false : null),
    user: user === undefined ? null : { name: user.name, roles: user.roles },
  };
}

async function checkSignature(token: string, config: OidcConfig | undefined) {
  if (config === undefined) return { signature: "unchecked", reason: "OIDC_ISSUER is not set" } as const;
  try {
    const user = await createVerifyToken(config)(token, () => Promise.resolve());
    return { signature: "valid", user } as const;
  } catch (error) {
    const reason = getErrorMessage(error);
    if (error instanceof UnavailableError) return { signature: "unchecked", reason } as const;
    if (error instanceof ForgedTokenError) return { signature: "invalid", reason } as const;
    if (error instanceof InvalidTokenError) return { signature: "valid" } as const;
    throw error;
  }
}

/**
 * The settings that a token would need. AD FS names another issuer in access tokens than in its discovery.
 */
const assumeConfig = ({ iss, aud, client_id: client }: TokenClaims): OidcConfig => ({
  issuer: String(iss).replace(/^https?:(.*\/adfs)\/services\/trust$/i, "https:$1"),
  audience: [aud, client].flat().find((one) => typeof one === "string") ?? "",
  rolesClaim: "roles",
  userClaim: "sub",
  roleMap: new Map(),
  tokenType: undefined,
});

const toSettingsFinding = ({ issuer, audience }: OidcConfig): TokenFinding => ({
  kind: "settings",
  message: "OIDC_ISSUER and OIDC_AUDIENCE are not set: the service accepts no bearer tokens",
  advice: `If this is the provider to trust, set OIDC_ISSUER=${showClaim(issuer)} and OIDC_AUDIENCE=${showClaim(audience)}.`,
  rejects: true,
});
