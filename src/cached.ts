import { LRUCache } from "lru-cache";

export interface CachedOptions {
  readonly ttlMs: number;
  /** Makes the time to live at least so many times as long as the last fetch took. */
  readonly restFactor?: number;
  /** Returns an expired value at once and fetches the next one in the background. */
  readonly staleWhileRevalidate?: boolean;
}

/** Shares one fetch, and its value while it lives, among all callers. An error is not cached. */
export function cached<T extends object | string>(
  fetch: () => Promise<T>,
  { ttlMs, restFactor = 0, staleWhileRevalidate = false }: CachedOptions,
): () => Promise<T> {
  const cache = new LRUCache<"value", T>({
    max: 1,
    ttl: ttlMs,
    allowStale: staleWhileRevalidate,
    async fetchMethod(_key, _stale, { options }) {
      const startedAt = performance.now();
      const value = await fetch();
      options.ttl = Math.max(ttlMs, restFactor * (performance.now() - startedAt));
      return value;
    },
  });
  return () => cache.forceFetch("value");
}
