import type { Filter } from "mongodb";

import type { Backfill, BackfillEnd, BackfillRange, BackfillStore } from "../routing/backfill.ts";
import { updateLimit } from "./database/client-options.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";
import { findPage, toNamespaceFilter } from "./queries.ts";

interface BackfillRecord {
  _id: string;
  /** "" while it runs, its id afterwards: a unique index allows one running backfill per topic. */
  slot: string;
  topic_id: string;
  namespace: string;
  topic: Pick<Backfill["topic"], "id" | "version" | "headerQuery" | "contentQuery">;
  egress_topic: string;
  from: Date;
  to: Date | null;
  rate: number;
  requested_by: string;
  requested_on: Date;
  starts_on: Date;
  state: Backfill["state"];
  reason: string | null;
  ranges: readonly (Omit<BackfillRange, "topicId"> & { topicId: string | null })[] | null;
  owner?: string;
  /** Nobody else runs it before. */
  leased_until: Date;
  ended_on?: Date;
}

type Kept = Parameters<BackfillStore["keep"]>[2];

const isRunning = { slot: "" };

/** Stores backfills in MongoDB; a TTL index removes those that ended long ago. */
export function createBackfillStore(database: Database): BackfillStore {
  const backfills = database.collection<BackfillRecord>(collections.backfills);

  async function find(id: string): Promise<Backfill | undefined> {
    const record = await backfills.findOne({ _id: id });
    return record === null ? undefined : fromRecord(record);
  }

  return {
    list: ({ namespaces, limit }) =>
      database.list(async () => {
        const filter = (toNamespaceFilter(namespaces) ?? {}) as Filter<BackfillRecord>;
        const sorted = { sort: ["requested_on", "_id"], descending: true, after: undefined };
        return (await findPage(backfills, { filter, ...sorted, limit })).records.map(fromRecord);
      }),
    ...runEach(database, {
      find,

      async insert(backfill: Backfill) {
        try {
          await database.ensureIndexes(collections.backfills);
          await backfills.insertOne(toBackfillRecord(backfill), updateLimit);
          return true;
        } catch (error) {
          if (!isDuplicate(error)) throw error;
          // A write that was repeated after an outage may have been stored the first time.
          return (await find(backfill.id)) !== undefined;
        }
      },

      countRunning: () => backfills.countDocuments(isRunning),

      async lease(owner: string, now: Date, until: Date) {
        const record = await backfills.findOneAndUpdate(
          { ...isRunning, leased_until: { $lte: now } },
          { $set: { owner, leased_until: until } },
          { sort: { requested_on: 1 }, returnDocument: "after", ...updateLimit },
        );
        return record === null ? undefined : fromRecord(record);
      },

      async keep(id: string, owner: string, { until, ranges }: Kept) {
        const $set = { leased_until: until, ...(ranges && { ranges: ranges.map(toStoredRange) }) };
        const { matchedCount } = await backfills.updateOne(
          { _id: id, ...isRunning, owner },
          { $set },
          updateLimit,
        );
        return matchedCount > 0;
      },

      async end(id: string, { state, reason, endedOn }: BackfillEnd) {
        const $set = { slot: id, state, reason: reason ?? null, ended_on: endedOn };
        await backfills.updateOne({ _id: id, ...isRunning }, { $set }, updateLimit);
        return find(id);
      },
    }),
  };
}

const toStoredRange = ({ topicId, ...range }: BackfillRange) => ({ ...range, topicId: topicId ?? null });

export const toBackfillRecord = ({ topic, ...backfill }: Backfill): BackfillRecord => ({
  _id: backfill.id,
  slot: "",
  topic_id: topic.externalId,
  namespace: topic.namespace,
  topic: {
    id: topic.id,
    version: topic.version,
    headerQuery: topic.headerQuery,
    contentQuery: topic.contentQuery,
  },
  egress_topic: backfill.egressTopic,
  from: backfill.from,
  to: backfill.to ?? null,
  rate: backfill.rate,
  requested_by: backfill.requestedBy,
  requested_on: backfill.requestedOn,
  starts_on: backfill.startsOn,
  state: backfill.state,
  reason: null,
  ranges: null,
  leased_until: backfill.startsOn,
});

const fromRecord = (record: BackfillRecord): Backfill => ({
  id: record._id,
  topic: { ...record.topic, externalId: record.topic_id, namespace: record.namespace },
  egressTopic: record.egress_topic,
  from: record.from,
  to: record.to ?? undefined,
  rate: record.rate,
  requestedBy: record.requested_by,
  requestedOn: record.requested_on,
  startsOn: record.starts_on,
  state: record.state,
  reason: record.reason ?? undefined,
  endedOn: record.ended_on,
  ranges: record.ranges?.map(({ topicId, ...range }) => ({ ...range, topicId: topicId ?? undefined })),
});
