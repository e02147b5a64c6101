import type { TopicBody } from "../../schemas/topic.ts";
import { RefusalError } from "../lib/errors.ts";
import type { TopicStore } from "./stores.ts";
import {
  getCombination,
  combinationRefusal,
  toDefinition,
  externalIdFault,
  sameDefinition,
  type Topic,
  type TopicDefinition,
} from "./topic.ts";

/** What became of a definition. "unchanged": a topic of this external id is there already, and the same. */
export type ImportedTopic = "created" | "unchanged" | RefusalError;

/** Makes topics of definitions, as if one after another; what is there already is left as it is. */
export interface Importer {
  /** Gives what became of each, in their order. Throws UnavailableError; some may be stored then. */
  take(bodies: readonly TopicBody[]): Promise<ImportedTopic[]>;
}

/** So many definitions are best given at once. */
export const importConcurrency = 500;
/** So many insertions or look-ups are under way together. */
const maxConcurrency = 32;

/** Makes an importer that creates each topic by `create`, under every rule of that. */
export function createTopicImporter(store: TopicStore, create: (body: TopicBody) => Promise<void>): Importer {
  async function takeOne(body: TopicBody, current: Topic | undefined): Promise<ImportedTopic> {
    const definition = toDefinition(body);
    if (current !== undefined) return compared(definition, current);
    try {
      await create(body);
      return "created";
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      // Of the same import, or somebody else's.
      const [holder] = await store.findByExternalIds([definition.externalId]);
      if (holder !== undefined) return compared(definition, holder);
      const [other] = await store.findByCombinations([definition]);
      return other === undefined ? error : combinationRefusal(definition, other);
    }
  }

  return {
    async take(bodies) {
      const stored = await byExternalId(store, bodies);
      const outcomes: ImportedTopic[] = [];
      const take = async ([index, body]: readonly [number, TopicBody]): Promise<void> => {
        outcomes[index] = await takeOne(body, stored.get(body.externalId));
      };
      const { free, bound } = separated(bodies);
      await eachOf(free, take);
      for (const one of bound) await take(one);
      return outcomes;
    },
  };
}

/** Makes an importer that stores nothing and tells what would become of the definitions. */
export function createDryRunImporter(store: TopicStore): Importer {
  const ids = new Map<string, TopicDefinition>();
  const combinations = new Map<string, TopicDefinition>();

  return {
    async take(bodies) {
      const definitions = bodies.map(toDefinition);
      const stored = await byExternalId(store, bodies);
      const held = new Map<string, TopicDefinition>();
      // One by one: a look-up of many at once finds whatever has a name from here and a filter from there.
      await eachOf(
        definitions.filter(({ externalId }) => !stored.has(externalId)),
        async (definition) => {
          const [holder] = await store.findByCombinations([definition]);
          if (holder !== undefined) held.set(getCombination(definition), holder);
        },
      );
      return definitions.map((definition) => {
        const { externalId } = definition;
        const combination = getCombination(definition);
        const current = stored.get(externalId) ?? ids.get(externalId);
        if (current !== undefined) return compared(definition, current);
        const holder = held.get(combination) ?? combinations.get(combination);
        if (holder !== undefined) return combinationRefusal(definition, holder);
        ids.set(externalId, definition);
        combinations.set(combination, definition);
        return "created";
      });
    },
  };
}

const byExternalId = async (
  store: TopicStore,
  bodies: readonly TopicBody[],
): Promise<ReadonlyMap<string, Topic>> => {
  const stored = await store.findByExternalIds([...new Set(bodies.map(({ externalId }) => externalId))]);
  return new Map(stored.map((topic) => [topic.externalId, topic]));
};

const members = ["name", "namespace", "headerQuery", "contentQuery"] as const;

function compared(definition: TopicDefinition, current: TopicDefinition): ImportedTopic {
  if (sameDefinition(definition, current)) return "unchanged";
  const different = members.filter((member) => definition[member] !== current[member]);
  return new RefusalError(
    "DUPLICATE_EXTERNAL_ID",
    `The external id "${definition.externalId}" belongs to a topic with another ${different.join(", ")}.`,
    [externalIdFault],
  );
}

type Placed = readonly [index: number, body: TopicBody];

/** The definitions whose order among each other does not matter, and those that share something unique with one before. */
function separated(bodies: readonly TopicBody[]): { free: Placed[]; bound: Placed[] } {
  const ids = new Set<string>();
  const combinations = new Set<string>();
  const free: Placed[] = [];
  const bound: Placed[] = [];
  for (const [index, body] of bodies.entries()) {
    const combination = getCombination(toDefinition(body));
    const isFree = !ids.has(body.externalId) && !combinations.has(combination);
    (isFree ? free : bound).push([index, body]);
    ids.add(body.externalId);
    combinations.add(combination);
  }
  return { free, bound };
}

/** Does the work for each item, for some at once. What is under way is ended before an error is thrown. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  // All take from one generator, which the first failure closes.
  const rest = (function* () {
    yield* items;
  })();
  const workers = Array.from({ length: maxConcurrency }, async () => {
    for (const item of rest) await work(item);
  });
  await Promise.allSettled(workers);
  await Promise.all(workers);
}
