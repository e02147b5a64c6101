import type { AnyBulkWriteOperation } from "mongodb";

import type { Logger } from "../lib/logger.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import { UniqueViolationError, TopicGoneError, type TopicStore } from "../topics/stores.ts";
import type { Topic } from "../topics/topic.ts";
import { splitIntoChunks, type Database } from "./database.ts";
import { isDuplicate } from "./failures.ts";
import { collections } from "./names.ts";
import { createPositions, type SessionOptions } from "./positions.ts";
import { derivePosition } from "./derive-position.ts";
import { maxUpdateMs } from "./update-command.ts";
import {
  findByExternalIds,
  fromTopicRecord,
  retiredId,
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
  const positions = createPositions(database, {
    log,
    derive: (key) => derivePosition(database, key),
  });

  async function write(writes: TopicWrites, options: SessionOptions): Promise<void> {
    const { removed, retired: newlyRetired, updated, created } = writes;
    if (newlyRetired.length > 0) {
      await retired.bulkWrite(
        newlyRetired.map((one) => ({
          replaceOne: { filter: { _id: retiredId(one) }, replacement: toRetiredRecord(one), upsert: true },
        })),
        options,
      );
    }
    if (removed.length > 0) await topics.deleteMany({ _id: { $in: removed.map(({ id }) => id) } }, options);
    if (updated.length > 0) {
      const { matchedCount } = await topics.bulkWrite(updated.map(replacement), {
        ...options,
        ordered: true,
      });
      if (matchedCount < updated.length)
        throw new TopicGoneError("a topic of the batch was disabled meanwhile");
    }
    if (created.length > 0) await insert(created, options);
  }

  async function insert(created: readonly Topic[], options: SessionOptions): Promise<void> {
    if (options.session !== undefined) {
      await topics.insertMany(created.map(toTopicRecord), options);
      return;
    }
    const insertions = splitIntoChunks(created, topicsPerInsert).map((some) =>
      topics.insertMany(some.map(toTopicRecord), { ordered: false }),
    );
    // No insertion may still be under way when the batch is decided again.
    await Promise.allSettled(insertions);
    await Promise.all(insertions);
  }

  return {
    insert: (topic) =>
      database
        .run(async () => {
          // A batch of announcements may hold the same unique key until its transaction ends.
          await topics.insertOne(toTopicRecord(topic), { maxTimeMS: maxUpdateMs });
        })
        .catch(rethrowViolation),

    findByExternalIds: async (externalIds) =>
      (await findByExternalIds({ database, topics }, externalIds)).map(fromTopicRecord),

    async findByCombinations(definitions) {
      if (definitions.length === 0) return [];
      // A single combination is found by its index alone.
      const anyOf = ([first = "", ...others]: readonly string[]) =>
        others.length === 0 ? first : { $in: [...new Set([first, ...others])] };
      const filter = {
        topic_name: anyOf(definitions.map(({ name }) => name)),
        namespace: anyOf(definitions.map(({ namespace }) => namespace)),
        header_query: anyOf(definitions.map(({ headerQuery }) => headerQuery)),
        content_query: anyOf(definitions.map(({ contentQuery }) => contentQuery)),
      };
      // May return topics that mix values of several definitions: a superset does no harm.
      const options = { batchSize: definitions.length + 1 };
      return database.run(async () => (await topics.find(filter, options).toArray()).map(fromTopicRecord));
    },

    claim: (key) => positions.claim(key),
    positions: (group, topic) => positions.positions(group, topic),

    async begin(step) {
      const batch = await positions.begin(step);
      return {
        ...batch,
        async write(writes) {
          if (hasWrites(writes))
            await batch.write((options) => write(writes, options)).catch(rethrowViolation);
        },
        // Some products check unique indexes only here.
        commit: () => batch.commit().catch(rethrowViolation),
      };
    },
  };
}

const hasWrites = ({ removed, retired, updated, created }: TopicWrites): boolean =>
  removed.length + retired.length + updated.length + created.length > 0;

function rethrowViolation(error: unknown): never {
  throw isDuplicate(error) ? new UniqueViolationError(error) : error;
}

const replacement = (topic: Topic): AnyBulkWriteOperation<TopicRecord> => {
  const { _id, ...fields } = toTopicRecord(topic);
  return { replaceOne: { filter: { _id }, replacement: fields } };
};
