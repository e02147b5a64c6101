import type { CatalogStore, NamedStore, PushApplication, PushPlatform } from "./catalog.ts";

/** Looks applications and platforms up without asking the store for each request. */
export interface Catalog {
  /** At once where it is remembered. Throws UnavailableError. */
  application(name: string): PushApplication | Promise<PushApplication | undefined>;
  platform(name: string): PushPlatform | Promise<PushPlatform | undefined>;
}

/** What was read longer ago is read again beside the requests that use it … */
const freshForMs = 1_000;
/** … and what was read longer ago than this is not used any more. */
const usableForMs = 10_000;

/**
 * Remembers the catalog. A change is noticed a second after somebody asks, however it was made; a name that is not known
 * is looked for at once, so what was just added is there. Requests never read more than once at a time.
 */
export function createCatalog(store: CatalogStore, clock: () => number = Date.now): Catalog {
  const applications = remembered(store.applications, clock);
  const platforms = remembered(store.platforms, clock);
  return { application: applications, platform: platforms };
}

function remembered<T extends PushApplication>(
  store: NamedStore<T>,
  clock: () => number,
): (name: string) => T | Promise<T | undefined> {
  let records: ReadonlyMap<string, T> = new Map();
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const at = clock();
    const found = await store.list();
    records = new Map(found.map((record) => [record.name, record]));
    readAt = at;
  }

  const readOnce = (): Promise<void> => (reading ??= read().finally(() => (reading = undefined)));

  async function find(name: string, asked: number): Promise<T | undefined> {
    if (asked - readAt >= usableForMs) await readOnce();
    const known = records.get(name);
    if (known !== undefined) return known;
    // A reading that began before the question may have missed what was added meanwhile.
    if (readAt < asked) await reading?.catch(() => undefined);
    if (readAt < asked) await readOnce();
    return records.get(name);
  }

  return (name) => {
    const asked = clock();
    const age = asked - readAt;
    const known = age < usableForMs ? records.get(name) : undefined;
    if (known === undefined) return find(name, asked);
    if (age >= freshForMs) readOnce().catch(() => undefined);
    return known;
  };
}
