import type { TopicDetailsStore } from "../topics/details/store.ts";
import type { StoredDetails } from "../topics/details/details.ts";
import type { TopicStore } from "../topics/stores.ts";
import type { KnownTopic, PlanReader } from "./stores.ts";

interface ReaderStores {
  readonly topics: Pick<TopicStore, "findByExternalIds" | "findByCombinations">;
  readonly details: Pick<TopicDetailsStore, "find" | "search">;
}

const membersPerLookup = 1_000;

/** Creates the reader of what plans are made from, over a database. */
export function createPlanReader({ topics, details }: ReaderStores): PlanReader {
  async function addTopics(
    externalIds: readonly string[],
    given: readonly StoredDetails[] | Promise<readonly StoredDetails[]>,
  ): Promise<KnownTopic[]> {
    const [found, described] = await Promise.all([topics.findByExternalIds(externalIds), given]);
    const topicsById = new Map(found.map((topic) => [topic.externalId, topic]));
    const detailsById = new Map(described.map((one) => [one.externalId, one]));
    return externalIds.map((externalId) => ({
      ...{ externalId, topic: topicsById.get(externalId), details: detailsById.get(externalId) },
    }));
  }

  return {
    async *streamMembers(set, { after, namespaces }) {
      const read = details.search({ set, namespaces });
      for await (const some of read({ after, batchSize: membersPerLookup }))
        yield* await addTopics(
          some.map(({ externalId }) => externalId),
          some,
        );
    },

    async findKnown(externalIds) {
      const known = await addTopics(externalIds, details.find(externalIds));
      return known.filter((one) => one.topic !== undefined || one.details !== undefined);
    },

    findHolders: (definitions) => topics.findByCombinations(definitions),
  };
}
