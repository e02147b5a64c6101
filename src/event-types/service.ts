import type { Event } from "../../schemas/pick.ts";
import { currentDate } from "../lib/platform.ts";
import { cached } from "../lib/cached.ts";
import { learningLimits, type EventType } from "./event-type.ts";
import { addToStored, toEventType } from "./generations.ts";
import { loadKnowledge } from "./knowledge.ts";
import { EventLearner, type TypeChanges } from "./learner.ts";
import type { EventTypeService, EventTypeStore, LearningResult, StoredEventType } from "./stores.ts";
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
  const findAll = async (names: readonly string[]): Promise<EventType[]> =>
    (await store.find(names)).map(toEventType);
  async function findStored(name: string): Promise<StoredEventType | undefined> {
    const [stored] = await store.find([name]);
    if (stored !== undefined) return stored;
    const { types } = learningLimits;
    if ((await store.countUpTo(types)) >= types) return undefined;
    return { name, version: 0, events: 0, firstOn: currentDate(), generations: [] };
  }
  const list = async () => (await store.list()).toSorted((a, b) => b.events - a.events);
  const getKnowledge = cached(async () => loadKnowledge(await list(), findAll), knowledgeCache);

  async function record({ name, ...changes }: TypeChanges): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const stored = await findStored(name);
      if (stored === undefined || (await store.replace(addToStored(stored, changes, options)))) return;
    }
  }

  return {
    list,
    find: async (name) => (await findAll([name]))[0],
    record,
    learnAll: (events) => learnAll(events, record, options),
    findWarnings: async (filters) => findFilterWarnings(filters, await getKnowledge()),
    forget: (name) => store.delete(name),
  };
}

const eventsPerRecord = 20_000;

async function learnAll(
  all: AsyncIterable<Event | undefined>,
  record: EventTypeService["record"],
  { keepsValues }: EventTypeOptions,
): Promise<LearningResult> {
  const learner = new EventLearner({ keepsValues, isLimited: false });
  const types = new Set<string>();
  async function store(): Promise<void> {
    for (const changes of learner.take()) {
      await record(changes);
      types.add(changes.name);
    }
  }
  let [events, rejected] = [0, 0];
  for await (const event of all) {
    if (event === undefined) rejected += 1;
    else {
      learner.learn(event);
      events += 1;
      if (events % eventsPerRecord === 0) await store();
    }
  }
  await store();
  return { events, types: types.size, rejected };
}
