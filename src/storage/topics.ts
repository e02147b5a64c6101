import type { AnyBulkWriteOperation, ClientSession, Collection, Filter } from "mongodb";

import { UnavailableError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import { UniqueViolationError, TopicGoneError, type TopicStore } from "../topics/stores.ts";
import type { RetiredTopic, Topic, TopicDefinition } from "../topics/topic.ts";
import { splitIntoChunks, type Database } from "./database.ts";
import { isDuplicate } from "./failures.ts";
import { collections } from "./names.ts";
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

/** Without a transaction, one part of a large insertion is stored while the next is still being encoded. */
const topicsPerInsert = 500;

/** The store of topics and positions in MongoDB. */
export function createTopicStore(database: Database, log: Logger): TopicStore {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);
  const positions = createPositions<TopicWrites>(database, {
    log,
    decidedOn: [collections.topics],
    derive: (key) => derivePosition(database, key),
    write: (writes, options) => writeTopics(writes, { topics, retired, options }),
    // Some products check unique indexes only at the commit.
    toStepError: toViolation,
  });

  return {
    ...positions,
    ...createRetiredTopics(database),
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

/** Where a batch is written. */
interface WriteTarget {
  readonly topics: Collection<TopicRecord>;
  readonly retired: Collection<RetiredRecord>;
  readonly options: SessionOptions;
}

async function writeTopics(writes: TopicWrites, target: WriteTarget): Promise<void> {
  const { topics, retired, options } = target;
  const { removed, retired: newlyRetired, updated, created } = writes;
  if (newlyRetired.length > 0) {
    await retired.bulkWrite(
      newlyRetired.map((one) => ({
        replaceOne: { filter: { _id: toRetiredId(one) }, replacement: toRetiredRecord(one), upsert: true },
      })),
      options,
    );
  }
  if (removed.length > 0) {
    const ids = removed.map(({ id }) => id);
    const { deletedCount } = await topics.deleteMany({ _id: { $in: ids } }, options);
    if (deletedCount < ids.length) throw createGoneError();
  }
  if (updated.length > 0) {
    const { matchedCount } = await topics.bulkWrite(updated.map(toReplacement), {
      ...options,
      ordered: true,
    });
    if (matchedCount < updated.length) throw createGoneError();
  }
  if (created.length > 0) await insertTopics(created, target);
}

async function insertTopics(created: readonly Topic[], { topics, options }: WriteTarget): Promise<void> {
  if (options.session !== undefined) {
    await topics.insertMany(created.map(toTopicRecord), options);
    return;
  }
  const insertions = splitIntoChunks(created, topicsPerInsert).map((some) =>
    topics.insertMany(some.map(toTopicRecord), { ordered: false, maxTimeMS: maxUpdateMs }),
  );
  // No insertion may still be in progress when the batch is decided again.
  await Promise.allSettled(insertions);
  await Promise.all(insertions);
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
          return await runInTransaction(database, session, async () => {
            const isGone = await remove(one.topic, { session });
            if (isGone) await copy({ session });
            return isGone;
          });
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

async function runInTransaction(
  database: Database,
  session: ClientSession,
  work: () => Promise<boolean>,
): Promise<boolean> {
  let isDone = false;
  try {
    await database.runTransaction(session, async () => {
      isDone = await work();
    });
    return isDone;
  } finally {
    await session.endSession();
  }
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

const createGoneError = (): TopicGoneError => new TopicGoneError("a topic of the batch was disabled");

const toViolation = (error: unknown): unknown =>
  isDuplicate(error) ? new UniqueViolationError(error) : error;

const toReplacement = (topic: Topic): AnyBulkWriteOperation<TopicRecord> => {
  const { _id, ...fields } = toTopicRecord(topic);
  return { replaceOne: { filter: { _id }, replacement: fields } };
};
