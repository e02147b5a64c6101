import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

import type { Hashing } from "./hashing.ts";
import { computePadding, effortToVerify, padding, verifyPassword } from "./password.ts";
import type { LoginThrottle } from "./throttle.ts";
import type { StoredUser, User, UserStore } from "./user.ts";

/** A user's name and password, and the network address that they were sent from. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/**
 * Checks credentials; undefined when they are wrong or the user is not active. What is remembered is given at once.
 * Throws TooManyAttempts, Overloaded and Unavailable.
 */
export type Authenticate = (credentials: Credentials) => User | Promise<User | undefined>;

export interface AuthenticateOptions {
  readonly users: Pick<UserStore, "find">;
  readonly throttle: LoginThrottle;
  readonly hashing: Hashing;
  readonly clock?: () => number;
}

/** A changed or deactivated user is refused within 30 s (contract, section 3): looked at again after half of that. */
const freshForMs = 15_000;
const mostRemembered = 10_000;

interface Verified {
  readonly hash: string;
  readonly user: User;
  readonly readAt: number;
}

/**
 * Makes the check of credentials. The memory-hard hash is computed once for a name and password; afterwards the user's
 * record is read again every 15 s, and the hash is trusted while the record still carries the one that was verified.
 * What is remembered is keyed by a digest under a key of this process, so no password stays in memory. Only what is not
 * remembered can be throttled or have to wait.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { users, throttle, hashing, clock = Date.now } = options;
  const key = randomBytes(32).toString("base64");
  const verified = new LRUCache<string, Verified>({ max: mostRemembered });
  /** Checks under way, so that many requests at once pay for one hash. */
  const running = new Map<string, Promise<User | undefined>>();
  const verify = createVerify();

  function remember(digest: string, stored: StoredUser, readAt: number): User {
    const { name, roles, active, passwordHash } = stored;
    const user = { name, roles, active };
    verified.set(digest, { hash: passwordHash, user, readAt });
    return user;
  }

  /** Looks whether what was verified before still holds; undefined when it does not. */
  async function renew(digest: string, name: string): Promise<User | undefined> {
    const known = verified.get(digest);
    if (known === undefined) return undefined;
    const readAt = clock();
    const stored = await users.find(name);
    if (stored?.active === true && stored.passwordHash === known.hash)
      return remember(digest, stored, readAt);
    verified.delete(digest);
    return undefined;
  }

  async function logIn(digest: string, credentials: Credentials): Promise<User | undefined> {
    const { name, password } = credentials;
    const { clean } = await throttle.check(credentials);
    return hashing.run(clean, async () => {
      // Those before it in the line may have failed.
      await throttle.check(credentials);
      const readAt = clock();
      const stored = await users.find(name);
      const correct = await verify(password, stored?.passwordHash);
      if (!correct || stored?.active !== true) {
        await throttle.failed(credentials);
        return undefined;
      }
      await throttle.succeeded(credentials);
      return remember(digest, stored, readAt);
    });
  }

  const check = async (digest: string, credentials: Credentials): Promise<User | undefined> =>
    (await renew(digest, credentials.name)) ?? (await logIn(digest, credentials));

  return (credentials) => {
    const { name, password } = credentials;
    const digest = hash("sha256", key + JSON.stringify([name, password]), "base64");
    const known = verified.get(digest);
    if (known !== undefined && clock() - known.readAt < freshForMs) return known.user;
    const already = running.get(digest);
    if (already !== undefined) return already;
    const checking = check(digest, credentials).finally(() => running.delete(digest));
    running.set(digest, checking);
    return checking;
  };
}

/**
 * Makes the check of a password that takes the same time whether there is a user or not, and whatever their hash costs:
 * as much as the costliest one that was seen.
 */
function createVerify(): (password: string, stored: string | undefined) => Promise<boolean> {
  let effort = effortToVerify(undefined);
  return async (password, stored) => {
    effort = Math.max(effort, effortToVerify(stored));
    const besides = padding(stored, effort);
    const correct = stored !== undefined && (await verifyPassword(password, stored));
    if (besides !== undefined) await computePadding(password, besides);
    return correct;
  };
}
