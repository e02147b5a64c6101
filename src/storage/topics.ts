import type { AnyBulkWriteOperation, Binary, ClientSession, Filter } from "mongodb";

import {
  Fenced,
  NotUnique,
  type BatchWrite,
  type Position,
  type PositionKey,
  type TopicStore,
} from "../topics/ports.ts";
import type { Topic } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { violatedIndex } from "./failures.ts";
import { uniqueIndexes } from "./indexes.ts";
import { collections } from "./names.ts";
import {
  fromRecord,
  retiredId,
  toRecord,
  toRetiredRecord,
  type RetiredRecord,
  type TopicRecord,
} from "./topic-records.ts";

interface PositionRecord {
  _id: { group: string; topic: string; partition: number };
  /** Absent until the first batch is applied. */
  next_offset?: number;
  /** Absent for the partition's first log. */
  log?: number;
  updated_on?: Date;
  /** The session that whoever has the partition writes in. */
  session?: Binary;
}

/** The store of topics and positions in MongoDB. */
export function createTopicStore(database: Database): TopicStore {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);
  const positions = database.collection<PositionRecord>(collections.positions);

  const find = (filter: Filter<TopicRecord>): Promise<Topic[]> =>
    database.run(async () => (await topics.find(filter).toArray()).map(fromRecord));

  async function write({ writes }: BatchWrite, options: SessionOptions): Promise<void> {
    const { removed, retired: gone, updated, created } = writes;
    if (gone.length > 0) {
      await retired.bulkWrite(
        gone.map((one) => ({
          replaceOne: { filter: { _id: retiredId(one) }, replacement: toRetiredRecord(one), upsert: true },
        })),
        options,
      );
    }
    if (removed.length > 0) await topics.deleteMany({ _id: { $in: removed.map(({ id }) => id) } }, options);
    if (updated.length > 0) await topics.bulkWrite(updated.map(replacement), { ...options, ordered: true });
    if (created.length > 0)
      await topics.insertMany(created.map(toRecord), { ...options, ordered: options.session !== undefined });
  }

  async function movePosition({ key, from, to }: BatchWrite, options: SessionOptions): Promise<void> {
    // A filter for null matches an absent field as well.
    const filter = { _id: positionId(key), next_offset: from?.offset ?? null } as Filter<PositionRecord>;
    const log = to.log === 1 ? {} : { log: to.log };
    const $set = { next_offset: to.offset, updated_on: new Date(), ...log };
    const { matchedCount } = await positions.updateOne(filter, { $set }, options);
    if (matchedCount === 0)
      throw new Fenced(`the position of ${nameOf(key)} is not ${from?.offset ?? "unset"} any more`);
  }

  /** Sessions of the partitions that this process has claimed. */
  const sessions = new Map<string, ClientSession>();

  async function claim(key: PositionKey): Promise<Position | undefined> {
    const _id = positionId(key);
    const found = await positions.findOne({ _id });
    // Only now is it certain that nobody else's transaction holds the position's record.
    if (found?.session !== undefined) await database.killSession(found.session);
    await sessions.get(nameOf(key))?.endSession();
    sessions.delete(nameOf(key));
    const session = database.startSession();
    if (session !== undefined) sessions.set(nameOf(key), session);
    const id = session?.id?.id;
    const change = id === undefined ? { $unset: { session: "" as const } } : { $set: { session: id } };
    const claimed = await positions.findOneAndUpdate({ _id }, change, {
      upsert: true,
      returnDocument: "after",
    });
    if (claimed?.next_offset === undefined) return undefined;
    return { offset: claimed.next_offset, log: claimed.log ?? 1 };
  }

  return {
    insert: (topic) =>
      database
        .run(async () => {
          await topics.insertOne(toRecord(topic));
        })
        .catch(rethrowNotUnique),

    findByExternalIds: async (externalIds) =>
      externalIds.length === 0 ? [] : find({ topic_id: { $in: [...externalIds] } }),

    async findByCombinations(definitions) {
      if (definitions.length === 0) return [];
      const among = (values: Iterable<string>) => ({ $in: [...new Set(values)] });
      // More than was asked for, one from here and another from there, may come back: a superset does no harm.
      return find({
        topic_name: among(definitions.map(({ name }) => name)),
        namespace: among(definitions.map(({ namespace }) => namespace)),
        header_query: among(definitions.map(({ headerQuery }) => headerQuery)),
        content_query: among(definitions.map(({ contentQuery }) => contentQuery)),
      });
    },

    claim: (key) => database.run(() => claim(key)),

    async applyBatch(batch) {
      const session = sessions.get(nameOf(batch.key));
      const work = async (options: SessionOptions) => {
        await write(batch, options);
        await batch.beforeCommit();
        await movePosition(batch, options);
      };
      const running =
        session === undefined || changesNothing(batch)
          ? database.run(() => work({}))
          : database.transaction(session, () => work({ session }));
      await running.catch(rethrowNotUnique);
    },
  };
}

/** Given to every operation of a transaction. */
interface SessionOptions {
  readonly session?: ClientSession;
}

/** A batch without writes moves its position by a single update, which needs no transaction. */
const changesNothing = ({ writes }: BatchWrite): boolean =>
  [writes.removed, writes.retired, writes.updated, writes.created].every((list) => list.length === 0);

function rethrowNotUnique(error: unknown): never {
  const index = violatedIndex(error);
  if (index === undefined) throw error;
  switch (index) {
    case uniqueIndexes.topicExternalId:
      throw new NotUnique("externalId", error);
    case uniqueIndexes.topicCombination:
      throw new NotUnique("combination", error);
    default:
      throw error;
  }
}

const replacement = (topic: Topic): AnyBulkWriteOperation<TopicRecord> => {
  const { _id, ...fields } = toRecord(topic);
  return { replaceOne: { filter: { _id }, replacement: fields } };
};

const positionId = ({ group, topic, partition }: PositionKey): PositionRecord["_id"] => ({
  group,
  topic,
  partition,
});

const nameOf = ({ group, topic, partition }: PositionKey): string =>
  `${topic}-${partition} in the group ${group}`;
