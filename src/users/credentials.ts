import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";

import { hashPassword, verifyPassword } from "./password.ts";
import type { StoredUser, User, UserStore } from "./user.ts";

/**
 * Checks a name and password; undefined when they are wrong or the user is not active. What is remembered is given at once.
 * Throws Unavailable.
 */
export type Authenticate = (name: string, password: string) => User | Promise<User | undefined>;

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
 * What is remembered is keyed by a digest under a key of this process, so no password stays in memory.
 */
export function createAuthenticate(users: UserStore, clock: () => number = Date.now): Authenticate {
  const key = randomBytes(32).toString("base64");
  const verified = new LRUCache<string, Verified>({ max: mostRemembered });
  /** Checks under way, so that many requests at once pay for one hash. */
  const running = new Map<string, Promise<User | undefined>>();
  /** What an unknown user's password is checked against, so that the time of an answer does not tell who exists. */
  const nobody = hashPassword(randomBytes(16).toString("hex"));
  nobody.catch(() => undefined);

  async function check(digest: string, name: string, password: string): Promise<User | undefined> {
    const known = verified.get(digest);
    const readAt = clock();
    const stored = await users.find(name);
    if (stored === undefined) {
      verified.delete(digest);
      await verifyPassword(password, await nobody);
      return undefined;
    }
    const correct =
      known?.hash === stored.passwordHash || (await verifyPassword(password, stored.passwordHash));
    if (!correct || !stored.active) {
      verified.delete(digest);
      return undefined;
    }
    const user = withoutHash(stored);
    verified.set(digest, { hash: stored.passwordHash, user, readAt });
    return user;
  }

  return (name, password) => {
    const digest = hash("sha256", key + JSON.stringify([name, password]), "base64");
    const known = verified.get(digest);
    if (known !== undefined && clock() - known.readAt < freshForMs) return known.user;
    const already = running.get(digest);
    if (already !== undefined) return already;
    const checking = check(digest, name, password).finally(() => running.delete(digest));
    running.set(digest, checking);
    return checking;
  };
}

const withoutHash = ({ name, roles, active }: StoredUser): User => ({ name, roles, active });
