import * as client from "openid-client";

import type { SignInFailureReason } from "../../schemas/session.ts";
import { cached } from "../lib/cached.ts";
import { getErrorMessage } from "../lib/errors.ts";
import { getClaim, type TokenClaims } from "./oidc-claims.ts";
import { isTrustworthy, type SignInConfig } from "./openid.ts";
import { SignInError } from "./sign-in-error.ts";

/** What only the browser that began a sign-in can bring back, and what only we can show for it. */
export interface SignInSecrets {
  readonly state: string;
  /** Comes back within the ID token. */
  readonly nonce: string;
  /** The provider gets its digest first, and itself with the code (RFC 7636). */
  readonly codeVerifier: string;
}

/** An OpenID provider, asked by the authorization code flow (OpenID Connect Core 1.0, section 3.1). */
export interface OpenIdProvider {
  /** Where a browser is sent to sign in. Throws a SignInError. */
  signInUrl(secrets: SignInSecrets): Promise<string>;
  /** What it says of whoever comes back with these parameters. Throws a SignInError. */
  claims(answer: URLSearchParams, secrets: SignInSecrets): Promise<TokenClaims>;
}

const patienceSeconds = 5;
const clockToleranceSeconds = 30;

/** Makes the provider. Nothing is asked of it before the first sign-in. */
export function createOpenIdProvider(config: SignInConfig, redirectUri: string): OpenIdProvider {
  const discovered = cached(
    () =>
      discover(config).catch((error: unknown) => {
        throw unavailable(error);
      }),
    {},
  );

  return {
    async signInUrl({ state, nonce, codeVerifier }) {
      const url = client.buildAuthorizationUrl(await discovered(), {
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

    async claims(answer, { state, nonce, codeVerifier }) {
      const provider = await discovered();
      try {
        const tokens = await client.authorizationCodeGrant(
          provider,
          new URL(`${redirectUri}?${answer.toString()}`),
          {
            expectedState: state,
            expectedNonce: nonce,
            pkceCodeVerifier: codeVerifier,
            idTokenExpected: true,
          },
        );
        const claims: TokenClaims & { readonly sub?: string } = tokens.claims() ?? {};
        const isWhole = [config.userClaim, config.rolesClaim].every(
          (one) => getClaim(claims, one) !== undefined,
        );
        if (isWhole || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
        const more = await client.fetchUserInfo(provider, tokens.access_token, claims.sub ?? "");
        return { ...claims, ...more };
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

/** OpenID Connect Discovery 1.0, section 4. The ID token's signature is checked, though it comes from the provider itself. */
const discover = ({ issuer, clientId, clientSecret }: SignInConfig): Promise<client.Configuration> =>
  client.discovery(
    new URL(issuer),
    clientId,
    { [client.clockTolerance]: clockToleranceSeconds },
    clientSecret === undefined ? client.None() : shownAsAskedFor(clientSecret),
    {
      [client.customFetch]: fetched,
      timeout: patienceSeconds,
      execute: [
        client.enableNonRepudiationChecks,
        // Only an issuer on this machine may have plain HTTP, and `fetched` sees to it that nothing else has.
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- it is marked so only to stand out
        ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
      ],
    },
  );

/** By HTTP Basic unless the provider takes it in the body only: Basic is what a provider means that says nothing. */
function shownAsAskedFor(clientSecret: string): client.ClientAuth {
  const [inHeader, inBody] = [client.ClientSecretBasic(clientSecret), client.ClientSecretPost(clientSecret)];
  return (provider, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = provider;
    const isBodyOnly = !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
    (isBodyOnly ? inBody : inHeader)(provider, ...rest);
  };
}

async function fetched(url: string, options: client.CustomFetchOptions): Promise<Response> {
  if (!isTrustworthy(url)) throw new SignInError("unavailable", `${url} is not HTTPS`);
  let response: Response;
  try {
    response = await fetch(url, options as RequestInit);
  } catch (error) {
    const { cause = error } = error as Error;
    throw new SignInError("unavailable", `${url} does not answer: ${getErrorMessage(cause)}`, error);
  }
  if (response.status < 500) return response;
  throw new SignInError("unavailable", `${url} answers ${response.status}`);
}

/** Whatever is wrong with the provider's configuration, nobody can sign in. */
function unavailable(error: unknown): SignInError {
  const failure = failureOf(error);
  if (failure.reason === "unavailable") return failure;
  return new SignInError("unavailable", `the provider's configuration: ${failure.message}`, error);
}

function failureOf(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  // What our own fetch threw comes wrapped.
  if (error instanceof Error && error.cause instanceof SignInError) return error.cause;
  if (error instanceof client.AuthorizationResponseError)
    return new SignInError(reasons.get(error.error) ?? "refused", said(error), error);
  if (error instanceof client.ResponseBodyError) return new SignInError("refused", said(error), error);
  if (error instanceof client.ClientError && error.code === "OAUTH_TIMEOUT")
    return new SignInError("unavailable", "the provider does not answer in time", error);
  const { cause } = error as Error;
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  return new SignInError("refused", `${getErrorMessage(error)}${why}`, error);
}

/** Errors of an authorization response (RFC 6749, section 4.1.2.1) that are not the fault of anybody here. */
const reasons: ReadonlyMap<string, SignInFailureReason> = new Map([
  ["access_denied", "declined"],
  ["server_error", "unavailable"],
  ["temporarily_unavailable", "unavailable"],
]);

const maxDescription = 200;

const said = ({
  error,
  error_description: more = "",
}: {
  error: string;
  error_description?: string;
}): string => `the provider says ${error} ${more}`.trim().slice(0, maxDescription);
