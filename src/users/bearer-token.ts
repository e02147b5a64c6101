import { hash } from "node:crypto";
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type RemoteJWKSet,
} from "jose";
import { LRUCache } from "lru-cache";

import { cached } from "@topicsync/lib/concurrency/cached";
import { getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import type { OidcConfig } from "../config/config.ts";
import { ForgedTokenError, InvalidTokenError, toUser } from "./openid.ts";
import {
  clockToleranceSeconds,
  listTokenFindings,
  type DecodedToken,
  type TokenFinding,
} from "./token-findings.ts";
import type { IsBeingErased, User } from "./user.ts";

/**
 * Verifies a bearer token and returns its user; synchronously when it was verified recently, otherwise, and
 * with `afresh` always, after `admit` resolves. Throws InvalidTokenError, and UnavailableError while the
 * issuer's keys cannot be fetched.
 */
export type VerifyToken = (
  token: string,
  admit: () => Promise<void>,
  options?: { readonly afresh: boolean },
) => User | Promise<User>;

/** Asymmetric signatures only: neither `none`, nor HMAC, for which a public key would serve as the secret. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const fetchTimeoutMs = 5_000;

/** Tokens are verified again after this time at the latest, since the issuer may have withdrawn a key. */
const tokenTtlMs = 5 * 60_000;
const maxRemembered = 10_000;

/**
 * Creates the verifier. The issuer is contacted when the first token arrives. `report` gets each finding on a
 * token, except on one that was verified recently.
 */
export function createVerifyToken(
  config: OidcConfig,
  clock: () => number = Date.now,
  report: (finding: TokenFinding) => void = () => undefined,
): VerifyToken {
  const { issuer, audience, tokenType } = config;
  const verified = new LRUCache<string, { readonly user: User; readonly until: number }>({
    max: maxRemembered,
  });
  const fetchKeys = cached(() => discover(issuer));

  async function getKeys(): Promise<RemoteJWKSet> {
    try {
      return await fetchKeys();
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      throw new UnavailableError(`the issuer's configuration cannot be read: ${getErrorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async function verify(token: string, digest: string): Promise<User> {
    try {
      const { payload } = await jwtVerify(token, await getKeys(), {
        issuer,
        audience,
        algorithms,
        ...(tokenType === undefined ? {} : { typ: tokenType }),
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ["exp"],
        currentDate: new Date(clock()),
      });
      const user = toUser(payload, config);
      if (user.roles.length === 0) listFindings(token).forEach(report);
      verified.set(digest, { user, until: Math.min((payload.exp ?? 0) * 1_000, clock() + tokenTtlMs) });
      return user;
    } catch (error) {
      throw describe(token, translateError(error));
    }
  }

  const listFindings = (token: string): readonly TokenFinding[] =>
    listTokenFindings(decodeToken(token), config, clock());

  /** Reports why a token is not accepted, and names all reasons if the issuer signed it. */
  function describe(token: string, failure: unknown): unknown {
    if (failure instanceof ForgedTokenError) {
      report(toSignatureFinding(failure.message));
      return failure;
    }
    if (!(failure instanceof InvalidTokenError)) return failure;
    const findings = listFindings(token).filter(({ rejects }) => rejects);
    findings.forEach(report);
    if (findings.length === 0) return failure;
    return new InvalidTokenError(findings.map(({ message }) => message).join("; "), { cause: failure });
  }

  return (token, admit, { afresh } = { afresh: false }) => {
    const digest = hash("sha256", token, "base64");
    const known = afresh ? undefined : verified.get(digest);
    if (known !== undefined && clock() < known.until) return known.user;
    return admit().then(() => verify(token, digest));
  };
}

/** The reason may quote the token's header, so it is cut. */
export const toSignatureFinding = (reason: string): TokenFinding => ({
  kind: "signature",
  message: `the signature is not valid: ${reason.slice(0, 200)}`,
  advice: "The provider of OIDC_ISSUER signed no such token: compare the claim iss.",
  rejects: true,
});

/** Reads a token without checking it. Throws InvalidTokenError for what is not a signed JWT. */
export function decodeToken(token: string): DecodedToken {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch (error) {
    throw new InvalidTokenError(`it is not a signed JWT: ${getErrorMessage(error)}`, { cause: error });
  }
}

/** Rejects the tokens of users who are being erased. */
export const rejectErased =
  (check: VerifyToken, isBeingErased: IsBeingErased): VerifyToken =>
  (...args) => {
    function admit(user: User): User | Promise<User> {
      const isErased = isBeingErased(user.name);
      if (isErased instanceof Promise) return isErased.then(() => admit(user));
      if (isErased) throw new InvalidTokenError("its user is being erased");
      return user;
    }
    const user = check(...args);
    return user instanceof Promise ? user.then(admit) : admit(user);
  };

/** Fetches the issuer's configuration (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string): Promise<RemoteJWKSet> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(fetchTimeoutMs);
  const response = await fetchOk(url, { redirect: "error", signal });
  const configuration = (await response.json()) as Record<string, unknown>;
  if (configuration["issuer"] !== issuer)
    throw new UnavailableError(`${url} names another issuer: ${String(configuration["issuer"])}`);
  const jwksUri = String(configuration["jwks_uri"]);
  if (!isTrustworthy(jwksUri)) throw new UnavailableError(`the issuer's jwks_uri is not HTTPS: ${jwksUri}`);
  return createRemoteJWKSet(new URL(jwksUri), { timeoutDuration: fetchTimeoutMs, [customFetch]: fetchOk });
}

async function fetchOk(url: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    const { cause = error } = error as Error;
    throw new UnavailableError(`${url} does not respond: ${getErrorMessage(cause)}`, { cause: error });
  }
  if (response.status !== 200) throw new UnavailableError(`${url} responded with ${response.status}`);
  return response;
}

function translateError(error: unknown): unknown {
  if (error instanceof errors.JWKSTimeout)
    return new UnavailableError("fetching the issuer's keys timed out");
  if (error instanceof errors.JWKSInvalid || isUnreadable(error))
    return new UnavailableError(`the issuer's response cannot be read: ${getErrorMessage(error)}`);
  // The claims are validated after the signature.
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
    return new InvalidTokenError(error.message, { cause: error });
  if (error instanceof errors.JOSEError) return new ForgedTokenError(error.message, { cause: error });
  return error;
}

/** Malformed JSON; jose reports it for keys as a plain JOSEError. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof errors.JOSEError && error.code === errors.JOSEError.code);
