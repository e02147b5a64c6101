import { LRUCache } from "lru-cache";

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { createSingleFlight } from "../lib/single-flight.ts";
import { keyUserPrefix, toKeyDigest, type KeyStore } from "./key.ts";
import type { User } from "./user.ts";

/**
 * Returns the caller with an API key; synchronously when the key was read recently, otherwise after `admit`
 * resolves. Undefined for a key that is unknown or expired. Throws what `admit` throws, and UnavailableError.
 */
export type CheckKey = (key: string, admit: () => Promise<void>) => User | Promise<User | undefined>;

/** Half of the 30 s within which a deleted key is rejected. */
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

export function createCheckKey(
  store: Pick<KeyStore, "findByDigest" | "markUsed">,
  log: Logger,
  now: () => number = Date.now,
): CheckKey {
  const known = new LRUCache<string, KnownKey>({ max: maxRemembered });
  const usedAt = new LRUCache<string, number>({ max: maxRemembered });
  const shareRead = createSingleFlight<User | undefined>();

  function use({ id, user }: KnownKey): User {
    const at = now();
    if (at - (usedAt.get(id) ?? -Infinity) >= usedIntervalMs) {
      usedAt.set(id, at);
      store.markUsed(id, new Date(at)).catch((error: unknown) => {
        log.debug({ key: user.name, reason: getErrorMessage(error) }, "time of last use not stored");
      });
    }
    return user;
  }

  async function read(digest: string): Promise<User | undefined> {
    const readAt = now();
    const stored = await store.findByDigest(digest);
    const expiresAt = stored?.expiresOn.getTime() ?? 0;
    if (stored === undefined || expiresAt <= readAt) {
      known.delete(digest);
      return undefined;
    }
    const { id, name, roles } = stored;
    const key = { id, readAt, expiresAt, user: { name: `${keyUserPrefix}${name}`, roles, active: true } };
    known.set(digest, key);
    return use(key);
  }

  return (key, admit) => {
    const digest = toKeyDigest(key);
    const found = known.get(digest);
    const at = now();
    if (found !== undefined && at - found.readAt < recordTtlMs && at < found.expiresAt) return use(found);
    return admit().then(() => shareRead(digest, () => read(digest)));
  };
}
