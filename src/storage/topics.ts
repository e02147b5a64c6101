import type { Filter } from "mongodb";

import { UnavailableError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import type { TopicStore } from "../topics/stores.ts";
import type { RetiredTopic, Topic, TopicDefinition } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { createTopicChanges } from "./topic-changes.ts";
import { createPositions, type SessionOptions } from "./positions.ts";
import { derivePosition } from "./derive-position.ts";
import { maxUpdateMs } from "./client-options.ts";
import {
  definitionFields,
  findByExternalIds,
  fromRetiredRecord,
  fromTopicRecord,
  toRetiredId,
  toStoredDefinition,
  toTopicRecord,
  toRetiredRecord,
  type RetiredRecord,
  type TopicRecord,
} from "./topic-records.ts";
import { openTopicCollections, toViolation, writeTopics } from "./topic-writes.ts";
import { runInSession } from "./transactions.ts";

interface TopicStoreOptions {
  /** How long replaced versions are kept; undefined: for ever. */
  readonly historyRetentionDays?: number | undefined;
}

/** The store of topics and positions in MongoDB. */
export function createTopicStore(
  database: Database,
  log: Logger,
  { historyRetentionDays }: TopicStoreOptions = {},
): TopicStore {
  const stores = openTopicCollections(database, historyRetentionDays);
  const { topics } = stores;
  const positions = createPositions<TopicWrites>(database, {
    log,
    decidedOn: [collections.topics],
    derive: (key) => derivePosition(database, key),
    write: (writes, options) => writeTopics(writes, stores, options),
    // Some products check unique indexes only at the commit.
    toStepError: toViolation,
  });

  return {
    ...positions,
    ...createRetiredTopics(database),
    change: createTopicChanges(database, stores),
    insert: (topic) =>
      database
        .run(async () => {
          // A batch of announcements may hold the same unique key until its transaction ends.
          await topics.insertOne(toTopicRecord(topic), { maxTimeMS: maxUpdateMs });
        })
        .catch((error: unknown) => {
          throw toViolation(error);
        }),

    findByExternalIds: async (externalIds) =>
      (await findByExternalIds({ database, topics }, externalIds)).map(fromTopicRecord),

    findDefinitions: async (externalIds) =>
      (await findByExternalIds({ database, topics }, externalIds, { projection: definitionFields })).map(
        toStoredDefinition,
      ),

    async findByCombinations(definitions) {
      if (definitions.length === 0) return [];
      const options = { batchSize: definitions.length + 1 };
      return database.run(async () =>
        (await topics.find(toCombinationFilter(definitions), options).toArray()).map(fromTopicRecord),
      );
    },

    confirmReads: (primary) =>
      database.run(() => database.confirmReads(primary, [collections.topics, collections.retiredTopics])),
  };
}

/** May find topics that mix values of several definitions: a superset does no harm. */
function toCombinationFilter(definitions: readonly TopicDefinition[]): Filter<TopicRecord> {
  // A single combination is found by its index alone.
  const toCondition = ([first = "", ...others]: readonly string[]) =>
    others.length === 0 ? first : { $in: [...new Set([first, ...others])] };
  return {
    topic_name: toCondition(definitions.map(({ name }) => name)),
    namespace: toCondition(definitions.map(({ namespace }) => namespace)),
    header_query: toCondition(definitions.map(({ headerQuery }) => headerQuery)),
    content_query: toCondition(definitions.map(({ contentQuery }) => contentQuery)),
  };
}

/** The functions of the topic store that concern retired topics. */
export function createRetiredTopics(database: Database): Pick<TopicStore, "retire" | "findLatestRetired"> {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);

  /** Deletes a topic unless it was changed since it was read. */
  async function remove(topic: Topic, options: SessionOptions): Promise<boolean> {
    const asRead = {
      _id: topic.id,
      sys_updated_on: topic.updatedOn,
      "source.kind": topic.source.kind,
    };
    return (await topics.deleteOne(asRead, options)).deletedCount === 1;
  }

  /** Whether a commit whose response was lost has retired a topic, for good. */
  const wasRetired = (_id: string, { retiredOn, retiredBy }: RetiredTopic): Promise<boolean> =>
    database.run(async () => {
      const primary = database.getPrimary();
      const own = { _id, retired_on: retiredOn, retired_by: retiredBy };
      if ((await retired.findOne(own)) === null) return false;
      return database.confirmReads(primary, [collections.retiredTopics]);
    });

  return {
    async retire(one) {
      const _id = toRetiredId(one);
      const copy = (options: SessionOptions) =>
        retired.replaceOne({ _id }, toRetiredRecord(one), { ...options, upsert: true });

      const session = database.startSession();
      if (session !== undefined)
        try {
          let wasThere = false;
          await runInSession(database, session, async () => {
            wasThere = await remove(one.topic, { session });
            if (wasThere) await copy({ session });
          });
          return wasThere;
        } catch (error) {
          if (error instanceof UnavailableError && (await wasRetired(_id, one).catch(() => false)))
            return true;
          throw error;
        }

      return database.run(async () => {
        // Stored first: a topic may be in both collections for a moment, but never in none.
        await copy({});
        if (await remove(one.topic, {})) return true;
        // If it still exists, another writer changed it; if not, another call retired this same version.
        if ((await topics.findOne({ _id: one.topic.id })) !== null) await retired.deleteOne({ _id });
        return false;
      });
    },

    findLatestRetired: (externalIds) =>
      database.run(async () => {
        const found = await retired.find({ topic_id: { $in: [...externalIds] } }).toArray();
        return keepLatest(found).map(fromRetiredRecord);
      }),
  };
}

/** The latest record of each external id. */
function keepLatest(records: readonly RetiredRecord[]): RetiredRecord[] {
  const latestById = new Map<string, RetiredRecord>();
  for (const record of records) {
    const latest = latestById.get(record.topic_id);
    if (latest === undefined || latest.retired_on <= record.retired_on)
      latestById.set(record.topic_id, record);
  }
  return [...latestById.values()];
}
