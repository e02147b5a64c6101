import { hash } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type RemoteJWKSet } from "jose";
import { LRUCache } from "lru-cache";

import { cached } from "../lib/cached.ts";
import { getErrorMessage, UnavailableError } from "../lib/errors.ts";
import { InvalidTokenError, toUser } from "./oidc-claims.ts";
import { isTrustworthy, type OidcConfig } from "./openid.ts";
import type { User } from "./user.ts";

/**
 * Checks a bearer token, and gives the user that it stands for; at once when it was checked lately. Throws InvalidTokenError, and
 * UnavailableError while the issuer's keys cannot be had.
 */
export type VerifyToken = (token: string) => User | Promise<User>;

/** Only signatures that the issuer alone can make: no `none`, and no HMAC, for which a public key would be the secret. */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const clockTolerance = 30;
const patienceMs = 5_000;

/** A token is believed until it expires, but looked at again after so long: the issuer may have withdrawn a key. */
const freshForMs = 5 * 60_000;
const maxRemembered = 10_000;

/** Makes the check of tokens. Nothing is asked of the issuer before the first of them comes. */
export function createVerifyToken(config: OidcConfig, clock: () => number = Date.now): VerifyToken {
  const checked = new LRUCache<string, { readonly user: User; readonly until: number }>({
    max: maxRemembered,
  });
  const discovered = cached(() => discover(config.issuer), {});

  async function keys(): Promise<RemoteJWKSet> {
    try {
      return await discovered();
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      throw new UnavailableError(`the issuer's configuration cannot be read: ${getErrorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async function check(token: string, digest: string): Promise<User> {
    try {
      const { issuer, audience } = config;
      const { payload } = await jwtVerify(token, await keys(), {
        issuer,
        audience,
        algorithms,
        clockTolerance,
        requiredClaims: ["exp"],
        currentDate: new Date(clock()),
      });
      const user = toUser(payload, config);
      checked.set(digest, { user, until: Math.min((payload.exp ?? 0) * 1_000, clock() + freshForMs) });
      return user;
    } catch (error) {
      throw translated(error);
    }
  }

  return (token) => {
    const digest = hash("sha256", token, "base64");
    const known = checked.get(digest);
    return known !== undefined && clock() < known.until ? known.user : check(token, digest);
  };
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discover(issuer: string): Promise<RemoteJWKSet> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const signal = AbortSignal.timeout(patienceMs);
  const found = (await (await fetched(url, { redirect: "error", signal })).json()) as Record<string, unknown>;
  if (found["issuer"] !== issuer)
    throw new UnavailableError(`${url} speaks of another issuer: ${String(found["issuer"])}`);
  const jwksUri = String(found["jwks_uri"]);
  if (!isTrustworthy(jwksUri)) throw new UnavailableError(`the issuer's jwks_uri is not HTTPS: ${jwksUri}`);
  return createRemoteJWKSet(new URL(jwksUri), { timeoutDuration: patienceMs, [customFetch]: fetched });
}

async function fetched(url: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    const { cause = error } = error as Error;
    throw new UnavailableError(`${url} does not answer: ${getErrorMessage(cause)}`, { cause: error });
  }
  if (response.status !== 200) throw new UnavailableError(`${url} answers ${response.status}`);
  return response;
}

function translated(error: unknown): unknown {
  if (error instanceof errors.JWKSTimeout)
    return new UnavailableError("the issuer's keys do not come in time");
  if (error instanceof errors.JWKSInvalid || isUnreadable(error))
    return new UnavailableError(`the issuer's answer cannot be read: ${getErrorMessage(error)}`);
  if (error instanceof errors.JOSEError) return new InvalidTokenError(error.message, { cause: error });
  return error;
}

/** JSON that is none; jose says so of the keys in an error without a class of its own. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || (error instanceof errors.JOSEError && error.code === errors.JOSEError.code);
