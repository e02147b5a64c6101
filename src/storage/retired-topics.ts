import type { RetiredTopicStore } from "../topics/stores.ts";
import type { Topic } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import type { SessionOptions } from "./positions.ts";
import {
  fromRetiredRecord,
  retiredId,
  toRetiredRecord,
  type RetiredRecord,
  type TopicRecord,
} from "./topic-records.ts";

/** The store of retired topics in MongoDB. */
export function createRetiredTopicStore(database: Database): RetiredTopicStore {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);

  /** Deletes the topic where it is as it was read. */
  async function remove(topic: Topic, options: SessionOptions): Promise<boolean> {
    const asRead = {
      _id: topic.id,
      sys_updated_on: topic.updatedOn,
      "source.kind": topic.source.kind,
    };
    return (await topics.deleteOne(asRead, options)).deletedCount === 1;
  }

  async function inTransaction(
    session: NonNullable<SessionOptions["session"]>,
    work: () => Promise<boolean>,
  ): Promise<boolean> {
    let isDone = false;
    try {
      await database.transaction(session, async () => {
        isDone = await work();
      });
      return isDone;
    } finally {
      await session.endSession();
    }
  }

  return {
    async retire(one) {
      const _id = retiredId(one);
      const keep = (options: SessionOptions) =>
        retired.replaceOne({ _id }, toRetiredRecord(one), { ...options, upsert: true });

      const session = database.startSession();
      if (session !== undefined)
        return inTransaction(session, async () => {
          const isGone = await remove(one.topic, { session });
          if (isGone) await keep({ session });
          return isGone;
        });

      return database.run(async () => {
        // Kept first: a topic may be in both collections for a moment, but never in none.
        await keep({});
        if (await remove(one.topic, {})) return true;
        // Where it is still there, another change was quicker; where it is gone, another call retired this very version.
        if ((await topics.findOne({ _id: one.topic.id })) !== null) await retired.deleteOne({ _id });
        return false;
      });
    },

    lastOf: (externalIds) =>
      database.run(async () => {
        const found = await retired.find({ topic_id: { $in: [...externalIds] } }).toArray();
        const last = new Map<string, RetiredRecord>();
        for (const record of found) {
          const before = last.get(record.topic_id);
          if (before === undefined || before.retired_on <= record.retired_on)
            last.set(record.topic_id, record);
        }
        return [...last.values()].map(fromRetiredRecord);
      }),
  };
}
