import { cached } from "../lib/cached.ts";
import { learningLimits, type EventType } from "./event-type.ts";
import { addToStored, toEventType } from "./generations.ts";

import { loadKnowledge } from "./knowledge.ts";
import type { EventTypeService, EventTypeStore, StoredEventType } from "./stores.ts";
import { findFilterWarnings } from "./warnings.ts";

/** Other instances store the same types at the same time. */
const maxAttempts = 10;

/** Loading takes at most a twentieth of the time. */
const knowledgeCache = { ttlMs: 2_000, restFactor: 20 };

interface EventTypeOptions {
  /** Whether values that are already stored are kept. */
  readonly keepsValues: boolean;
}

export function createEventTypeService(store: EventTypeStore, options: EventTypeOptions): EventTypeService {
  const findStored = async (name: string): Promise<StoredEventType | undefined> => {
    const stored = await store.find(name);
    if (stored !== undefined) return stored;
    return (await store.count()) < learningLimits.types ? { name, version: 0, generations: [] } : undefined;
  };

  const list = async () => (await store.list()).toSorted((a, b) => b.events - a.events);
  async function find(name: string): Promise<EventType | undefined> {
    const stored = await store.find(name);
    return stored && toEventType(stored);
  }
  const getKnowledge = cached(async () => loadKnowledge(await list(), find), knowledgeCache);

  return {
    list,
    find,
    findWarnings: async (filters) => findFilterWarnings(filters, await getKnowledge()),
    async record({ name, ...changes }) {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const stored = await findStored(name);
        if (stored === undefined || (await store.replace(addToStored(stored, changes, options)))) return;
      }
    },
    forget: (name) => store.delete(name),
  };
}
