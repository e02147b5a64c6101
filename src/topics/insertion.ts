import { getErrorMessage, RejectionError, formatFaults, type Fault } from "@topicsync/lib/errors";
import { Turns } from "@topicsync/lib/concurrency/turns";
import { PatternBudget, findFilterFaults } from "@topicsync/filters";
import { UniqueViolationError, type TopicStore } from "./stores.ts";
import { combinationFault, externalIdFault, type Topic, type TopicDefinition } from "./topic.ts";

type LookupStore = Pick<TopicStore, "findByExternalIds" | "findByCombinations">;
type InsertionStore = LookupStore & Pick<TopicStore, "insert">;

/** The conflicting topic may be deleted before it is looked up; retry, but not forever. */
const maxAttempts = 10;

/** Throws a RejectionError if filters cannot be read. */
export type RequireReadable = (definition: TopicDefinition) => void;

/**
 * Reads the filters of all topics that a request names, in turns of the event loop and within one budget.
 * Returns a function for these and others.
 */
export async function readAllFilters(definitions: readonly TopicDefinition[]): Promise<RequireReadable> {
  const budget = PatternBudget.forRequest();
  const turns = new Turns();
  const known = new Map<string, readonly Fault[]>();
  for (const definition of definitions) {
    const key = toKey(definition);
    if (!known.has(key)) known.set(key, findFilterFaults(definition, budget));
    if (turns.isOver()) await turns.next();
  }
  return (definition) => {
    requireNoFaults(known.get(toKey(definition)) ?? findFilterFaults(definition));
  };
}

const toKey = ({ headerQuery, contentQuery }: TopicDefinition): string => `${headerQuery}\0${contentQuery}`;

export const requireReadableFilters: RequireReadable = (definition) => {
  requireNoFaults(findFilterFaults(definition));
};

/** Throws a RejectionError with every fault of the filters. */
function requireNoFaults(faults: readonly Fault[]): void {
  if (faults.length > 0)
    throw new RejectionError("BAD_FILTER", `A filter cannot be read: ${formatFaults(faults, "it")}`, faults);
}

/**
 * Stores the topic that `make` returns. Throws a RejectionError with every duplicate, the external id first
 * (specification 4.3), and UnavailableError.
 */
export async function insertTopic(store: InsertionStore, make: () => Topic): Promise<Topic> {
  for (let tries = 1; ; tries += 1) {
    const topic = make();
    try {
      await store.insert(topic);
      return topic;
    } catch (error) {
      if (!(error instanceof UniqueViolationError)) throw error;
      const rejection = createDuplicateRejection(topic, await findDuplicates(store, topic));
      if (rejection !== undefined) throw rejection;
      if (tries === maxAttempts)
        throw new Error(
          `a unique index rejected "${topic.externalId}" ${maxAttempts} times, but no topic conflicts: ${getErrorMessage(error)}`,
          { cause: error },
        );
    }
  }
}

/** Returns a fault for each unique value that is taken, the external id first. Empty values are skipped. */
export async function findDuplicates(store: LookupStore, definition: TopicDefinition): Promise<Fault[]> {
  const { externalId, name } = definition;
  const [sameId, sameCombination] = await Promise.all([
    externalId === "" ? [] : store.findByExternalIds([externalId]),
    name === "" ? [] : store.findByCombinations([definition]),
  ]);
  return [
    ...(sameId.length > 0 ? [externalIdFault] : []),
    ...(sameCombination.length > 0 ? [combinationFault] : []),
  ];
}

/** The rejection of a definition with these faults of `findDuplicates`. */
export function createDuplicateRejection(
  definition: TopicDefinition,
  details: readonly Fault[],
): RejectionError | undefined {
  if (details.includes(externalIdFault)) {
    return new RejectionError(
      "DUPLICATE_EXTERNAL_ID",
      `The external id "${definition.externalId}" already exists. Provide a unique topic external id.`,
      details,
    );
  }
  if (details.length > 0) {
    return new RejectionError(
      "DUPLICATE_COMBINATION",
      "A topic with this combination already exists. Provide a unique combination of topic name, namespace, header query and content query.",
      details,
    );
  }
  return undefined;
}
