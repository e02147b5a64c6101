import { LRUCache } from "lru-cache";

import { getErrorMessage } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { createSingleFlight } from "@topicsync/lib/concurrency/single-flight";
import { keyUserPrefix, toKeyDigest, toKeyEnd, type KeyStore } from "./key.ts";
import type { User, UserStore } from "./user.ts";

/**
 * Returns the caller with an API key; synchronously when the key was read recently, otherwise, and with
 * `afresh` always, after `admit` resolves. Undefined for a key that is unknown or expired, or whose maker is
 * disabled. Throws what `admit` throws, and UnavailableError.
 */
export type CheckKey = (
  key: string,
  admit: () => Promise<void>,
  options?: { readonly afresh: boolean },
) => User | Promise<User | undefined>;

interface CheckKeyOptions {
  readonly keys: Pick<KeyStore, "findByDigest" | "markUsed">;
  readonly users: Pick<UserStore, "find">;
  /** The longest life of a key. */
  readonly maxDays: number;
  readonly log: Logger;
  readonly now?: () => number;
}

/** Half of the 30 s within which a deleted key, or one of a disabled user, is rejected. */
const recordTtlMs = 15_000;
const maxRemembered = 10_000;
/** The time of last use is stored at most once in this time. */
const usedIntervalMs = 60_000;

interface KnownKey {
  readonly id: string;
  readonly user: User;
  readonly readAt: number;
  readonly expiresAt: number;
}

export function createCheckKey({ keys, users, maxDays, log, now = Date.now }: CheckKeyOptions): CheckKey {
  const known = new LRUCache<string, KnownKey>({ max: maxRemembered });
  const usedAt = new LRUCache<string, number>({ max: maxRemembered });
  const shareRead = createSingleFlight<User | undefined>();

  function use({ id, user }: KnownKey): User {
    const at = now();
    if (at - (usedAt.get(id) ?? -Infinity) >= usedIntervalMs) {
      usedAt.set(id, at);
      keys.markUsed(id, new Date(at)).catch((error: unknown) => {
        log.debug({ key: user.name, reason: getErrorMessage(error) }, "time of last use not stored");
      });
    }
    return user;
  }

  async function read(digest: string): Promise<User | undefined> {
    const readAt = now();
    const stored = await keys.findByDigest(digest);
    const expiresAt = stored === undefined ? 0 : toKeyEnd(stored, maxDays).getTime();
    if (stored === undefined || expiresAt <= readAt || !(await isActive(stored.maker))) {
      known.delete(digest);
      return undefined;
    }
    const { id, name, roles, maker } = stored;
    const user = {
      name: `${keyUserPrefix}${name}`,
      roles,
      active: true,
      ...(maker === undefined ? {} : { maker }),
    };
    const key = { id, readAt, expiresAt, user };
    known.set(digest, key);
    return use(key);
  }

  const isActive = async (maker: string | undefined): Promise<boolean> =>
    maker === undefined || (await users.find(maker))?.active === true;

  return (key, admit, { afresh } = { afresh: false }) => {
    const digest = toKeyDigest(key);
    // Not shared: a read that has begun may be older than the request.
    if (afresh) return admit().then(() => read(digest));
    const found = known.get(digest);
    const at = now();
    if (found !== undefined && at - found.readAt < recordTtlMs && at < found.expiresAt) return use(found);
    return admit().then(() => shareRead(digest, () => read(digest)));
  };
}
