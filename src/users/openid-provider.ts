import * as client from "openid-client";

import { cached } from "@topicsync/lib/concurrency/cached";
import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { followSecret } from "@topicsync/lib/secret";
import { isTrustworthy } from "@topicsync/lib/trustworthy-url";
import type { SignInFailureReason } from "../../schemas/session.ts";
import type { SignInConfig } from "../config/config.ts";
import { getClaim, SignInError, type TokenClaims } from "./openid.ts";

/** Values that bind a callback to the browser that began the sign-in. */
export interface SignInSecrets {
  readonly state: string;
  /** Returned in the ID token. */
  readonly nonce: string;
  /** Its digest is sent first, the value itself with the code (PKCE, RFC 7636). */
  readonly codeVerifier: string;
}

/** An OpenID provider, used by the authorization code flow (OpenID Connect Core 1.0, section 3.1). */
export type OpenIdProvider = ReturnType<typeof createOpenIdProvider>;

const timeoutSeconds = 5;
const clockToleranceSeconds = 30;

/** Creates the provider. It is contacted at the first sign-in. */
export function createOpenIdProvider(config: SignInConfig, redirectUri: string, log: Logger) {
  const authentication =
    config.clientSecret === undefined
      ? client.None()
      : authenticateClient(followSecret(config.clientSecret, log));
  const getConfiguration = cached(() =>
    discover(config, authentication).catch((error: unknown) => {
      throw toUnavailable(error);
    }),
  );

  return {
    /** Returns the URL where the browser signs in. Throws a SignInError. */
    async buildSignInUrl({ state, nonce, codeVerifier }: SignInSecrets): Promise<string> {
      const url = client.buildAuthorizationUrl(await getConfiguration(), {
        redirect_uri: redirectUri,
        scope: config.scope,
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
      if (isTrustworthy(url.href)) return url.href;
      throw new SignInError("unavailable", `the authorization_endpoint is not HTTPS: ${url.origin}`);
    },

    /** Exchanges the callback's code for the user's claims. Throws a SignInError. */
    async fetchClaims(
      response: URLSearchParams,
      { state, nonce, codeVerifier }: SignInSecrets,
    ): Promise<TokenClaims> {
      const provider = await getConfiguration();
      try {
        const tokens = await client.authorizationCodeGrant(
          provider,
          new URL(`${redirectUri}?${response.toString()}`),
          {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            idTokenExpected: true,
          },
        );
        const claims: TokenClaims & { readonly sub?: string } = tokens.claims() ?? {};
        const isComplete = [config.userClaim, config.rolesClaim].every(
          (one) => getClaim(claims, one) !== undefined,
        );
        if (isComplete || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
        const more = await client.fetchUserInfo(provider, tokens.access_token, claims.sub ?? "");
        return { ...claims, ...more };
      } catch (error) {
        throw toSignInError(error);
      }
    },
  };
}

/**
 * OpenID Connect Discovery 1.0, section 4. The ID token's signature is checked although it comes over TLS.
 */
const discover = (
  { issuer, clientId }: SignInConfig,
  authentication: client.ClientAuth,
): Promise<client.Configuration> =>
  client.discovery(
    new URL(issuer),
    clientId,
    { [client.clockTolerance]: clockToleranceSeconds },
    authentication,
    {
      [client.customFetch]: fetchTrusted,
      timeout: timeoutSeconds,
      execute: [
        client.enableNonRepudiationChecks,
        // Plain HTTP is for an issuer on the loopback interface only; `fetchTrusted` enforces this.
        // oxlint-disable-next-line typescript/no-deprecated -- marked deprecated only as a warning
        ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
      ],
    },
  );

/**
 * Uses HTTP Basic, the default of the specification, unless the provider accepts the secret in the body only.
 */
function authenticateClient(getSecret: () => string): client.ClientAuth {
  return (provider, ...rest) => {
    const secret = getSecret();
    const [inHeader, inBody] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
    const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = provider;
    const isBodyOnly = !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
    (isBodyOnly ? inBody : inHeader)(provider, ...rest);
  };
}

async function fetchTrusted(url: string, options: client.CustomFetchOptions): Promise<Response> {
  if (!isTrustworthy(url)) throw new SignInError("unavailable", `${url} is not HTTPS`);
  let response: Response;
  try {
    response = await fetch(url, options as RequestInit);
  } catch (error) {
    const { cause = error } = error as Error;
    throw new SignInError("unavailable", `${url} does not respond: ${getErrorMessage(cause)}`, error);
  }
  if (response.status < 500) return response;
  throw new SignInError("unavailable", `${url} responded with ${response.status}`);
}

/** Any fault in the provider's configuration makes sign-in unavailable. */
function toUnavailable(error: unknown): SignInError {
  const failure = toSignInError(error);
  if (failure.reason === "unavailable") return failure;
  return new SignInError("unavailable", `the provider's configuration: ${failure.message}`, error);
}

function toSignInError(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  // Errors thrown by `fetchTrusted` arrive wrapped.
  if (error instanceof Error && error.cause instanceof SignInError) return error.cause;
  if (error instanceof client.AuthorizationResponseError)
    return new SignInError(reasons.get(error.error) ?? "rejected", describe(error), error);
  if (error instanceof client.ResponseBodyError) return new SignInError("rejected", describe(error), error);
  if (error instanceof client.ClientError && error.code === "OAUTH_TIMEOUT")
    return new SignInError("unavailable", "the provider timed out", error);
  const { cause } = error as Error;
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  return new SignInError("rejected", `${getErrorMessage(error)}${why}`, error);
}

/** Errors of an authorization response (RFC 6749, section 4.1.2.1) that are not failed attempts. */
const reasons: ReadonlyMap<string, SignInFailureReason> = new Map([
  ["access_denied", "declined"],
  ["server_error", "unavailable"],
  ["temporarily_unavailable", "unavailable"],
]);

const maxDescriptionLength = 200;

const describe = ({
  error,
  error_description: more = "",
}: {
  error: string;
  error_description?: string;
}): string => `the provider says ${error} ${more}`.trim().slice(0, maxDescriptionLength);
