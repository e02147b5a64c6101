import type { SyncState, TopicState } from "../dead-letters/stores.ts";
import { runEach, type Database } from "./database/database.ts";
import { collections } from "./names.ts";
import { fromRecord, type PositionRecord } from "./position-records.ts";
import { toNamespaceFilter } from "./queries.ts";
import type { RetiredRecord, TopicRecord } from "./topics/records.ts";

/** Reads the positions of a consumer group and the announcements that last changed topics. */
export function createSyncState(database: Database, group: string): SyncState {
  const positions = database.collection<PositionRecord>(collections.positions);
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);

  return runEach(database, {
    async findPositions() {
      const records = await positions.find({ "_id.group": group }).toArray();
      return records.flatMap((record) => {
        const { topic, partition } = record._id;
        const position = fromRecord(record);
        return position === undefined ? [] : [{ topic, partition, ...position }];
      });
    },

    async findForeign(externalIds, namespaces) {
      const among = toNamespaceFilter(namespaces);
      if (among === undefined) return new Set();
      const filter = { topic_id: { $in: [...externalIds] }, $nor: [among] };
      const foreign = await topics.find(filter, { projection: { topic_id: 1 } }).toArray();
      return new Set(foreign.map(({ topic_id }) => topic_id));
    },

    async findTopics(externalIds) {
      if (externalIds.length === 0) return [];
      const among = { topic_id: { $in: [...externalIds] } };
      // One after the other, so that a topic that is retired in between is in at least one result.
      const stored = await topics.find(among, { projection: { topic_id: 1, source: 1 } }).toArray();
      const gone = await retired.find(among, { projection: { topic_id: 1, retired_by: 1 } }).toArray();
      const current = stored.flatMap(({ topic_id: externalId, source }): TopicState[] =>
        source.kind === "announcement" ? [{ externalId, by: source, retired: false }] : [],
      );
      return [
        ...current,
        ...gone.flatMap(({ topic_id: externalId, retired_by: by }): TopicState[] =>
          by.kind === "announcement" ? [{ externalId, by, retired: true }] : [],
        ),
      ];
    },
  });
}
