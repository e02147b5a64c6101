import type { AnyBulkWriteOperation } from "mongodb";

import { compareTexts } from "@topicsync/filters";
import type { TopicUsageStore } from "../../topics/usage.ts";
import { maxUpdateMs } from "../database/client-options.ts";
import type { Database } from "../database/database.ts";
import { classify, getWriteErrors } from "../database/failures.ts";
import { collections } from "../names.ts";
import { findByValues } from "../queries.ts";
import { findByExternalIds, type TopicRecord } from "./records.ts";

export interface UsageRecord {
  /** The external id. */
  _id: string;
  /** The sys_id of the topic that had it; absent if it was last counted by an earlier release. */
  topic?: string;
  last_on: Date;
  /** Their number; absent if they were last counted by an earlier release. */
  events?: number;
}

/** One record. Its id is not a text, so that no external id is the same. */
interface CountingRecord {
  _id: typeof countingId;
  since: Date;
  until: Date;
}

const countingId = { counting: "events" } as const;

type Operation = AnyBulkWriteOperation<UsageRecord>;

export function createTopicUsageStore(database: Database): TopicUsageStore {
  const usage = database.collection<UsageRecord>(collections.topicUsage);
  const counting = database.collection<CountingRecord>(collections.topicUsage);
  const topics = database.collection<TopicRecord>(collections.topics);

  const findRecords = (externalIds: readonly string[]): Promise<UsageRecord[]> =>
    findByValues(database, usage, ["_id", externalIds]);

  const write = (operations: Operation[]): Promise<unknown> =>
    usage.bulkWrite(operations, { ordered: false, maxTimeMS: maxUpdateMs });

  return {
    async add(counts, on) {
      const ids = counts.map(({ externalId }) => externalId);
      const stored = new Map((await findRecords(ids)).map((record) => [record._id, record]));
      const active = await findByExternalIds({ database, topics }, ids, { projection: { topic_id: 1 } });
      const owners = new Map(active.map(({ _id, topic_id }) => [topic_id, _id]));
      // In one order everywhere: in some products, a bulk holds its records until it ends.
      const ordered = counts.toSorted((a, b) => compareTexts(a.externalId, b.externalId));
      const operations = ordered.map(({ externalId, matches }): Operation => {
        const topic = stored.get(externalId)?.topic;
        const owner = owners.get(externalId);
        if (owner !== undefined && topic !== undefined && topic !== owner)
          // Of several instances that find another topic under an external id, the first one begins again.
          return {
            updateOne: {
              filter: { _id: externalId, topic },
              update: { $set: { topic: owner, last_on: on, events: matches } },
            },
          };
        return {
          updateOne: {
            filter: { _id: externalId },
            update: {
              $inc: { events: matches },
              $max: { last_on: on },
              ...(owner !== undefined && topic === undefined && { $set: { topic: owner } }),
            },
            upsert: true,
          },
        };
      });
      await database.run(() =>
        write(operations).catch(async (error: unknown) => {
          // Another instance may insert a record at the same time.
          if (classify(error) !== "duplicate") throw error;
          await write((getWriteErrors(error) ?? []).flatMap(({ index }) => operations[index] ?? []));
        }),
      );
    },

    noteCounting: ({ since, until }) =>
      database.run(async () => {
        const update = { $min: { since }, $max: { until } };
        await counting.updateOne({ _id: countingId }, update, { upsert: true, maxTimeMS: maxUpdateMs });
      }),

    findCounting: () =>
      database.run(async () => {
        const found = await counting.findOne({ _id: countingId });
        return found === null ? undefined : { since: found.since, until: found.until };
      }),

    async find(externalIds) {
      const records = await findRecords(externalIds);
      return new Map(
        records.map(({ _id, topic: topicId, last_on: lastOn, events = 0 }) => [
          _id,
          { ...(topicId !== undefined && { topicId }), lastOn, events },
        ]),
      );
    },
  };
}
