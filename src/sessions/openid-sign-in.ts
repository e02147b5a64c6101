import { randomBytes } from "node:crypto";

import { getErrorMessage, TooManyAttemptsError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { InvalidTokenError, toUser } from "../users/oidc-claims.ts";
import type { SignInConfig } from "../users/openid.ts";
import type { OpenIdProvider, SignInSecrets } from "../users/openid-provider.ts";
import { SignInError } from "../users/sign-in-error.ts";
import type { LoginThrottle } from "../users/login-throttle.ts";
import type { User } from "../users/user.ts";
import { digest } from "./session.ts";

/** Whoever comes back from the provider. */
export interface Returning {
  /** What `begin` gave the browser, if it still has it. */
  readonly id: string | undefined;
  /** What the provider sent with them. */
  readonly answer: URLSearchParams;
  /** Network address. */
  readonly address: string;
}

/** Signing in by way of an OpenID provider. */
export interface OpenIdSignIn {
  /** As the provider is named in its tokens. */
  readonly issuer: string;
  /**
   * Begins: `id` is for the browser alone to keep, `location` is where it goes. All that has to come back follows from the id,
   * so that nothing is stored, and any instance can finish. Throws a SignInError.
   */
  begin(): Promise<{ readonly id: string; readonly location: string }>;
  /** The user that the provider means. Throws a SignInError. */
  finish(returning: Returning): Promise<User>;
}

export interface OpenIdSignInOptions {
  readonly config: SignInConfig;
  readonly provider: OpenIdProvider;
  readonly throttle: LoginThrottle;
  readonly log: Logger;
}

/** Each asks the provider up to three times: whoever sends made-up answers must not flood it through us. */
const maxPending = 16;

/** Makes the sign-in. */
export function createOpenIdSignIn({ config, provider, throttle, log }: OpenIdSignInOptions): OpenIdSignIn {
  let running = 0;

  async function finish({ id, answer, address }: Returning): Promise<User> {
    const secrets = id === undefined ? undefined : secretsOf(id);
    if (secrets === undefined || answer.get("state") !== secrets.state)
      throw new SignInError("expired", "the answer belongs to no sign-in of this browser");
    const attempt = { name: `openid ${address}`, address };
    await throttle.check(attempt);
    if (running >= maxPending) throw new SignInError("unavailable", "too many sign-ins at once");
    running += 1;
    try {
      const user = toUser(await provider.claims(answer, secrets), config);
      await throttle.succeeded(attempt);
      return user;
    } catch (error) {
      if (error instanceof SignInError && error.reason === "refused") await throttle.failed(attempt);
      throw error;
    } finally {
      running -= 1;
    }
  }

  /** What only whoever operates the service can mend is told to them. */
  function failed(error: unknown): never {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    if (["refused", "nameless", "unavailable"].includes(failure.reason))
      log.warn({ reason: failure.message }, "signing in with OpenID failed");
    throw failure;
  }

  return {
    issuer: config.issuer,
    async begin() {
      const id = randomBytes(32).toString("base64url");
      return { id, location: await provider.signInUrl(secretsOf(id)).catch(failed) };
    },
    finish: (returning) => finish(returning).catch(failed),
  };
}

/** Whoever sees one of them knows neither the others nor the id. */
const secretsOf = (id: string): SignInSecrets => ({
  state: digest(`state ${id}`),
  nonce: digest(`nonce ${id}`),
  codeVerifier: digest(`verifier ${id}`),
});

function failureOf(error: unknown): SignInError | undefined {
  if (error instanceof SignInError) return error;
  if (error instanceof InvalidTokenError) return new SignInError("nameless", getErrorMessage(error), error);
  if (error instanceof TooManyAttemptsError)
    return new SignInError("throttled", getErrorMessage(error), error);
  return undefined;
}
