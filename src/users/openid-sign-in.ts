import { randomBytes } from "node:crypto";

import { getErrorMessage, TooManyAttemptsError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import type { OpenIdProvider, SignInSecrets } from "./openid-provider.ts";
import type { SignInConfig } from "../config/config.ts";
import { InvalidTokenError, SignInError, toUser } from "./openid.ts";
import type { LoginThrottle } from "./login-throttle.ts";
import type { User } from "./user.ts";
import { digest } from "./session.ts";

/** A browser that returns from the provider. */
interface OpenIdCallback {
  /** The id from `begin`, if the browser still has it. */
  readonly id: string | undefined;
  /** The query that the provider sent. */
  readonly response: URLSearchParams;
  /** IP address of the caller. */
  readonly address: string;
}

/** Signs users in through an OpenID provider. */
export type OpenIdSignIn = ReturnType<typeof createOpenIdSignIn>;

interface OpenIdSignInOptions {
  readonly config: SignInConfig;
  readonly provider: OpenIdProvider;
  readonly throttle: LoginThrottle;
  readonly log: Logger;
}

/** Each sends up to three requests to the provider; forged callbacks must not flood it. */
const maxPending = 16;

export function createOpenIdSignIn({ config, provider, throttle, log }: OpenIdSignInOptions) {
  let pending = 0;

  async function finish({ id, response, address }: OpenIdCallback): Promise<User> {
    const secrets = id === undefined ? undefined : deriveSecrets(id);
    if (secrets === undefined || response.get("state") !== secrets.state)
      throw new SignInError("expired", "the callback does not match a sign-in of this browser");
    const attempt = { name: `openid ${address}`, address };
    await throttle.check(attempt);
    if (pending >= maxPending) throw new SignInError("unavailable", "too many sign-ins at once");
    pending += 1;
    try {
      const user = toUser(await provider.fetchClaims(response, secrets), config);
      await throttle.recordSuccess(attempt);
      if (user.rolesFault !== undefined)
        log.info({ user: user.name, reason: user.rolesFault }, "OpenID user signed in without roles");
      return user;
    } catch (error) {
      if (error instanceof SignInError && error.reason === "rejected") await throttle.recordFailure(attempt);
      throw error;
    } finally {
      pending -= 1;
    }
  }

  /** Logs failures that only an operator can fix. */
  function fail(error: unknown): never {
    const failure = toSignInError(error);
    if (failure === undefined) throw error;
    if (["rejected", "nameless", "unavailable"].includes(failure.reason))
      log.warn({ reason: failure.message }, "OpenID sign-in failed");
    throw failure;
  }

  return {
    issuer: config.issuer,
    /**
     * Begins a sign-in: the browser keeps `id` and goes to `location`. State, nonce and verifier are derived
     * from the id, so nothing is stored and any instance can finish. Throws a SignInError.
     */
    async begin(): Promise<{ readonly id: string; readonly location: string }> {
      const id = randomBytes(32).toString("base64url");
      return { id, location: await provider.buildSignInUrl(deriveSecrets(id)).catch(fail) };
    },
    /** Returns the user whom the provider names. Throws a SignInError. */
    finish: (callback: OpenIdCallback): Promise<User> => finish(callback).catch(fail),
  };
}

/** None of them reveals the others or the id. */
const deriveSecrets = (id: string): SignInSecrets => ({
  state: digest(`state ${id}`),
  nonce: digest(`nonce ${id}`),
  codeVerifier: digest(`verifier ${id}`),
});

function toSignInError(error: unknown): SignInError | undefined {
  if (error instanceof SignInError) return error;
  if (error instanceof InvalidTokenError) return new SignInError("nameless", getErrorMessage(error), error);
  if (error instanceof TooManyAttemptsError)
    return new SignInError("throttled", getErrorMessage(error), error);
  return undefined;
}
