import type { EventTypeService } from "../event-types/service.ts";
import type { TopicDetailsStore } from "../topics/details/store.ts";
import type { StoredDetails } from "../topics/details/details.ts";
import type { TopicStore } from "../topics/stores.ts";
import type { KnownTopic, PlanSource, TopicSetStore } from "./stores.ts";

interface SourceStores {
  readonly topics: Pick<TopicStore, "findByExternalIds" | "findByCombinations">;
  readonly details: Pick<TopicDetailsStore, "find" | "search">;
  readonly sets: Pick<TopicSetStore, "getDatabaseId" | "find" | "list">;
  readonly eventTypes: Pick<EventTypeService, "findWarnings">;
}

const membersPerLookup = 1_000;

/** Creates the source of plans over a database. */
export function createDatabaseSource({ topics, details, sets, eventTypes }: SourceStores): PlanSource {
  async function addTopics(all: readonly StoredDetails[]): Promise<KnownTopic[]> {
    const found = await topics.findByExternalIds(all.map(({ externalId }) => externalId));
    const byId = new Map(found.map((topic) => [topic.externalId, topic]));
    return all.map((one) => ({ externalId: one.externalId, topic: byId.get(one.externalId), details: one }));
  }

  return {
    databaseId: sets.getDatabaseId(),
    findSet: (name) => sets.find(name),
    listSets: async () => (await sets.list("all")).map(({ name }) => name),

    async *streamMembers(set, { after, namespaces }) {
      const read = details.search({ set, namespaces });
      for await (const some of read({ after, batchSize: membersPerLookup })) yield* await addTopics(some);
    },

    async findKnown(externalIds) {
      const [found, described] = await Promise.all([
        topics.findByExternalIds(externalIds),
        details.find(externalIds),
      ]);
      const topicsById = new Map(found.map((topic) => [topic.externalId, topic]));
      const detailsById = new Map(described.map((one) => [one.externalId, one]));
      return externalIds.flatMap((externalId) => {
        const known = { externalId, topic: topicsById.get(externalId), details: detailsById.get(externalId) };
        return known.topic === undefined && known.details === undefined ? [] : [known];
      });
    },

    findHolders: (definitions) => topics.findByCombinations(definitions),
    findWarnings: (definitions) =>
      Promise.all(definitions.map((one) => eventTypes.findWarnings(one, { showsValues: true }))),
  };
}
