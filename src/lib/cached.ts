import { LRUCache } from "lru-cache";

export interface CachedOptions {
  /** Undefined: a value is kept as long as the process runs. */
  readonly ttlMs?: number;
  /** Makes the time to live at least so many times as long as the last fetch took. */
  readonly restFactor?: number;
  /** Returns an expired value at once and fetches the next one in the background. */
  readonly staleWhileRevalidate?: boolean;
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** What fails is tried again, but not for each caller. */
const errorTtlMs = 1_000;
/** To lru-cache. */
const forever = 0;

/** Shares one fetch, and its value while it lives, among all callers; an error for a second. */
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
        options.ttl = ttlMs === undefined ? forever : Math.max(ttlMs, restFactor * tookMs);
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
