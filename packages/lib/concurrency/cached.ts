import { LRUCache } from "lru-cache";

interface CachedOptions {
  /** Undefined: values never expire. */
  readonly ttlMs?: number;
  /** Extends the time to live to this multiple of the last fetch's duration. */
  readonly restFactor?: number;
  /** How long an error is kept: a second by default. */
  readonly errorTtlMs?: number;
  /**
   * Returns an expired value at once, if it is not older than this, and fetches the next one in the
   * background.
   */
  readonly maxStaleMs?: number;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Failures are retried, but not for each caller. */
const defaultErrorTtlMs = 1_000;
/** Means no expiry to lru-cache. */
const noExpiry = 0;

/** Shares one fetch and its unexpired value among all callers, and an error for a while. */
export function cached<T>(
  fetch: () => Promise<T>,
  { ttlMs, restFactor = 0, maxStaleMs = 0, errorTtlMs = defaultErrorTtlMs }: CachedOptions = {},
): () => Promise<T> {
  let fetchedAt = -Infinity;
  const cache = new LRUCache<"outcome", Outcome<T>>({
    max: 1,
    ttl: errorTtlMs,
    async fetchMethod(_key, _stale, { options }) {
      const startedAt = performance.now();
      try {
        const value = await fetch();
        fetchedAt = performance.now();
        const tookMs = fetchedAt - startedAt;
        options.ttl = ttlMs === undefined ? noExpiry : Math.max(ttlMs, restFactor * tookMs);
        return { value };
      } catch (error) {
        return { error };
      }
    },
  });
  return async () => {
    const allowStale = performance.now() - fetchedAt < maxStaleMs;
    const outcome = await cache.forceFetch("outcome", { allowStale });
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  };
}
