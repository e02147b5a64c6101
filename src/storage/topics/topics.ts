import type { Filter } from "mongodb";

import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import type { Logger } from "@topicsync/lib/logger";
import type { TopicWrites } from "../../topics/snapshot.ts";
import type { TopicStore } from "../../topics/stores.ts";
import type { RetiredTopic, TopicDefinition } from "../../topics/topic.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import { createTopicChanges } from "./changes.ts";
import { createPositions } from "../positions.ts";
import { derivePosition } from "../derive-position.ts";
import { maxUpdateMs } from "../database/client-options.ts";
import {
  definitionFields,
  findByExternalIds,
  fromRetiredRecord,
  fromTopicRecord,
  toStoredDefinition,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "./records.ts";
import { claimsValues, expireRetirements, openTopicCollections, toViolation, writeTopics } from "./writes.ts";

interface TopicStoreOptions {
  /** How long replaced versions are kept; undefined: for ever. */
  readonly historyRetentionDays: number | undefined;
}

/** The store of topics and positions in MongoDB. */
export function createTopicStore(
  database: Database,
  log: Logger,
  { historyRetentionDays }: TopicStoreOptions,
): TopicStore {
  const stores = openTopicCollections(database, historyRetentionDays);
  const { topics } = stores;
  const positions = createPositions<TopicWrites>(database, {
    log,
    decidedOn: [collections.topics],
    derive: (key) => derivePosition(database, key),
    async write(writes, options) {
      if (claimsValues(writes)) await database.ensureIndexes(collections.topics);
      await writeTopics(writes, stores, options);
    },
    // Some products check unique indexes only at the commit.
    toStepError: toViolation,
  });

  return {
    ...positions,
    findLatestRetired: (externalIds) => findLatestRetired(database, externalIds),
    change: createTopicChanges(database, stores),
    insert: (topic) =>
      database
        .run(async () => {
          await database.ensureIndexes(collections.topics);
          // A batch of announcements may hold the same unique key until its transaction ends.
          await topics.insertOne(toTopicRecord(topic), { maxTimeMS: maxUpdateMs });
          // The topic is stored, whatever happens here.
          await expireRetirements([topic], stores, {}).catch(() => undefined);
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

/** Finds what was retired; see the topic store. */
export const findLatestRetired = (
  database: Database,
  externalIds: readonly string[],
): Promise<RetiredTopic[]> =>
  database.run(async () => {
    const retired = database.collection<RetiredRecord>(collections.retiredTopics);
    const found: RetiredRecord[] = [];
    // One query each, because a topic may have been retired any number of times.
    for (const ids of splitIntoBatches([...new Set(externalIds)], queriesAtOnce)) {
      const queries = ids.map((topic_id) => retired.find({ topic_id }, latestRetirement).toArray());
      found.push(...(await Promise.all(queries)).flat());
    }
    // One that was enabled again may have another external id by now.
    return found.filter(({ enabled_on }) => (enabled_on ?? null) === null).map(fromRetiredRecord);
  });

/** Leaves connections of the driver's pool to others. */
const queriesAtOnce = 20;
const latestRetirement = { sort: { retired_on: -1, version: -1, sys_id: -1 }, limit: 1 } as const;
