import { LRUCache } from "lru-cache";

import type { CatalogStore, NamedStore, CatalogRecord } from "./catalog.ts";

/** Looks applications and platforms up without a query for each request. */
export type Catalog = ReturnType<typeof createCatalog>;

/** Older records are still returned, while they are read again in the background. */
const maxFreshMs = 1_000;
/** Older records are no longer returned. */
const maxStaleMs = 10_000;

/**
 * Creates the cached catalog. A change is picked up within a second of the next request. An unknown name is
 * read from the store at once, so a record that was just added is found. At most one read of each collection
 * is in flight.
 */
export const createCatalog = (store: CatalogStore, clock: () => number = Date.now) => ({
  getApplication: createLookup(store.applications, clock),
  getPlatform: createLookup(store.platforms, clock),
});

/** All records of a collection. */
interface Snapshot {
  /** When the read began. */
  readonly readAt: number;
  readonly byName: ReadonlyMap<string, CatalogRecord>;
}

/** Creates a function that returns a cached record synchronously. Throws UnavailableError. */
function createLookup(
  store: NamedStore,
  clock: () => number,
): (name: string) => CatalogRecord | Promise<CatalogRecord | undefined> {
  const cache = new LRUCache<"all", Snapshot>({
    max: 1,
    allowStale: true,
    noDeleteOnFetchRejection: true,
    async fetchMethod() {
      const readAt = clock();
      const records = await store.list();
      return { readAt, byName: new Map(records.map((record) => [record.name, record])) };
    },
  });

  const read = (): Promise<Snapshot> => cache.forceFetch("all", { forceRefresh: true, allowStale: false });

  async function findInStore(name: string, askedAt: number): Promise<CatalogRecord | undefined> {
    const snapshot = await read();
    // It may have joined a read that began before the record was added.
    const { byName } = snapshot.readAt < askedAt ? await read() : snapshot;
    return byName.get(name);
  }

  return (name) => {
    const askedAt = clock();
    const snapshot = cache.peek("all", { allowStale: true });
    const ageMs = askedAt - (snapshot?.readAt ?? -Infinity);
    const known = ageMs < maxStaleMs ? snapshot?.byName.get(name) : undefined;
    if (known === undefined) return findInStore(name, askedAt);
    // Returns the stale snapshot; a failed read keeps it.
    if (ageMs >= maxFreshMs) void cache.fetch("all", { forceRefresh: true });
    return known;
  };
}
