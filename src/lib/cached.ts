import { LRUCache } from "lru-cache";

interface CachedOptions {
  /** Undefined: values never expire. */
  readonly ttlMs?: number;
  /** Extends the time to live to this multiple of the last fetch's duration. */
  readonly restFactor?: number;
  /** Returns an expired value at once and fetches the next one in the background. */
  readonly staleWhileRevalidate?: boolean;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Failures are retried, but not for each caller. */
const errorTtlMs = 1_000;
/** Means no expiry to lru-cache. */
const noExpiry = 0;

/** Shares one fetch and its unexpired value among all callers; an error is kept for a second. */
export function cached<T>(
  fetch: () => Promise<T>,
  { ttlMs, restFactor = 0, staleWhileRevalidate = false }: CachedOptions,
): () => Promise<T> {
  const cache = new LRUCache<"outcome", Outcome<T>>({
    max: 1,
    ttl: errorTtlMs,
    allowStale: staleWhileRevalidate,
    async fetchMethod(_key, _stale, { options }) {
      const startedAt = performance.now();
      try {
        const value = await fetch();
        const tookMs = performance.now() - startedAt;
        options.ttl = ttlMs === undefined ? noExpiry : Math.max(ttlMs, restFactor * tookMs);
        return { value };
      } catch (error) {
        return { error };
      }
    },
  });
  return async () => {
    const outcome = await cache.forceFetch("outcome");
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  };
}
