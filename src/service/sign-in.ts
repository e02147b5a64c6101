import type { Logger } from "@topicsync/lib/logger";
import { buildRedirectUri, type OpenIdOptions } from "../../http/routes/openid-sign-in.ts";
import { createOpenIdSignIn } from "../users/openid-sign-in.ts";
import { createAuthenticate } from "../users/authenticate.ts";
import { createForgeryThrottle } from "../users/forgery-throttle.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import type { VerifyToken } from "../users/bearer-token.ts";
import type { TokenFinding } from "../users/token-findings.ts";
import type { Config, OidcConfig, SignInConfig } from "../config/config.ts";
import { createLoginThrottle, type LoginThrottle } from "../users/login-throttle.ts";
import { createCheckKey } from "../users/key-check.ts";
import type { IsBeingErased } from "../users/user.ts";
import type { Services } from "./services.ts";

export async function createSignIn(
  { oidc, signIn, maxKeyDays: maxDays }: Pick<Config, "oidc" | "signIn" | "maxKeyDays">,
  {
    userStore: users,
    keyStore: keys,
    isBeingErased,
  }: Pick<Services, "userStore" | "keyStore" | "isBeingErased">,
  log: Logger,
) {
  const throttle = createLoginThrottle({
    onLimit(limit, { name, address }) {
      log.warn({ limit, user: name.slice(0, 100), address }, "too many failed logins, rejecting more");
    },
  });
  return {
    ...createAuthenticate({ users, throttle, hashQueue: createHashQueue() }),
    forgeries: createForgeryThrottle({
      onLimit(address) {
        log.warn({ address }, "too many unknown sessions or forged tokens, rejecting more");
      },
    }),
    checkKey: createCheckKey({ keys, users, maxDays, log }),
    checkToken: oidc && (await loadTokenCheck(oidc, isBeingErased, log)),
    openId: signIn && (await loadOpenIdOptions(signIn, throttle, log)),
  };
}

/** Loads the library only if bearer tokens are configured. */
async function loadTokenCheck(
  config: OidcConfig,
  isBeingErased: IsBeingErased,
  log: Logger,
): Promise<VerifyToken> {
  const { createVerifyToken, rejectErased } = await import("../users/bearer-token.ts");
  // Callers choose what their tokens contain, but not how many kinds there are.
  const logged = new Set<TokenFinding["kind"]>();
  const verify = createVerifyToken(config, Date.now, ({ kind, message: reason, advice, rejects }) => {
    if (logged.has(kind)) return;
    logged.add(kind);
    if (kind === "exp") log.info({ kind, reason }, "bearer token has expired");
    else if (rejects) log.warn({ kind, reason, advice }, "bearer token rejected");
    else log.info({ kind, reason, advice }, "bearer token gives no rights");
  });
  return rejectErased(verify, isBeingErased);
}

/** Loads the library only if signing in with OpenID is configured. */
async function loadOpenIdOptions(
  config: SignInConfig,
  throttle: LoginThrottle,
  log: Logger,
): Promise<OpenIdOptions> {
  const { createOpenIdProvider } = await import("../users/openid-provider.ts");
  const { publicUrl } = config;
  const provider = createOpenIdProvider(config, buildRedirectUri(publicUrl), log);
  return { signIn: createOpenIdSignIn({ config, provider, throttle, log }), publicUrl };
}
