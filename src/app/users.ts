import type { AppOptions } from "../../http/app.ts";
import { buildRedirectUri, type OpenIdOptions } from "../../http/routes/openid-sign-in.ts";
import type { Config } from "../config.ts";
import { newId } from "../lib/sys-id.ts";
import type { Logger } from "../lib/logger.ts";
import { createOpenIdSignIn } from "../sessions/openid-sign-in.ts";
import { createSessions } from "../sessions/session.ts";
import type { Database } from "../storage/database.ts";
import { createSessionStore } from "../storage/sessions.ts";
import { createUserStore } from "../storage/users.ts";
import { createUserAdministration } from "../users/administration.ts";
import { createAuthenticate } from "../users/authenticate.ts";
import { createForgeryThrottle } from "../users/forgery-throttle.ts";
import { createHashQueue } from "../users/hash-queue.ts";
import type { VerifyToken } from "../users/bearer-token.ts";
import type { OidcConfig, SignInConfig } from "../users/openid.ts";
import { hashPassword } from "../users/password.ts";
import { createLoginThrottle, type LoginThrottle } from "../users/login-throttle.ts";
import type { UserStore } from "../users/user.ts";

export interface Users extends Pick<
  AppOptions,
  "users" | "sessions" | "verify" | "forgeries" | "checkToken" | "openId"
> {
  readonly userStore: UserStore;
}

/** Wires users, their sessions and the ways to sign in. */
export async function createUsers(
  { oidc, signIn }: Pick<Config, "oidc" | "signIn">,
  database: Database,
  log: Logger,
): Promise<Users> {
  const userStore = createUserStore(database, newId);
  const sessionStore = createSessionStore(database);
  const hashQueue = createHashQueue();
  const administrationQueue = createHashQueue({ concurrency: 1 });
  const throttle = createLoginThrottle({
    onLimit(limit, { name, address }) {
      log.warn({ limit, user: name.slice(0, 100), address }, "too many failed logins, rejecting more");
    },
  });
  const forgeries = createForgeryThrottle({
    onLimit(address) {
      log.warn({ address }, "too many unknown sessions or forged tokens, rejecting more");
    },
  });
  return {
    userStore,
    users: createUserAdministration({
      users: userStore,
      sessions: sessionStore,
      // A queue of its own: strangers can fill that of the logins.
      hash: (password) => administrationQueue.run("first", () => hashPassword(password)),
    }),
    sessions: createSessions({ store: sessionStore, users: userStore, issuer: signIn?.issuer }),
    verify: createAuthenticate({ users: userStore, throttle, hashQueue }),
    forgeries,
    checkToken: oidc && (await loadTokenCheck(oidc)),
    openId: signIn && (await loadOpenIdOptions(signIn, throttle, log)),
  };
}

/** Loads its library only where bearer tokens are configured. */
async function loadTokenCheck(config: OidcConfig): Promise<VerifyToken> {
  const { createVerifyToken } = await import("../users/bearer-token.ts");
  return createVerifyToken(config);
}

/** Loads its library only where signing in with OpenID is configured. */
async function loadOpenIdOptions(
  config: SignInConfig,
  throttle: LoginThrottle,
  log: Logger,
): Promise<OpenIdOptions> {
  const { createOpenIdProvider } = await import("../users/openid-provider.ts");
  const { publicUrl } = config;
  const provider = createOpenIdProvider(config, buildRedirectUri(publicUrl));
  return { signIn: createOpenIdSignIn({ config, provider, throttle, log }), publicUrl };
}
