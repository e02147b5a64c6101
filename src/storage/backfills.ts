import type { Filter } from "mongodb";

import type { Backfill, BackfillEnd, BackfillStore } from "../routing/backfill.ts";
import { updateLimit } from "./database/client-options.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";
import { findPage, toNamespaceFilter } from "./queries.ts";

interface BackfillRecord extends Pick<Backfill, "state" | "reason" | "ranges"> {
  _id: string;
  /** "" while it runs, its id afterwards: a unique index allows one running backfill per topic. */
  slot: string;
  topic_id: string;
  namespace: string;
  requested_on: Date;
  /** Absent while it runs. */
  ended_on?: Date;
  owner?: string;
  /** Nobody else runs it before. */
  leased_until: Date;
  request: Pick<Backfill, "topic" | "egressTopic" | "from" | "to" | "rate" | "requestedBy" | "startsOn">;
}

const isRunning = { slot: "" };

/** Stores backfills in MongoDB; a TTL index removes those that ended long ago. */
export function createBackfillStore(database: Database): BackfillStore {
  const backfills = database.collection<BackfillRecord>(collections.backfills);
  const toFound = (record: BackfillRecord | null): Backfill | undefined =>
    record === null ? undefined : fromRecord(record);
  const find = async (id: string): Promise<Backfill | undefined> =>
    toFound(await backfills.findOne({ _id: id }));

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

      async findLastCancel(externalId: string) {
        const cancelled = { topic_id: externalId, state: "cancelled" } as const;
        return (await backfills.findOne(cancelled, { sort: { ended_on: -1 } }))?.ended_on;
      },

      lease: async (owner: string, now: Date, until: Date) =>
        toFound(
          await backfills.findOneAndUpdate(
            { ...isRunning, leased_until: { $lte: now } },
            { $set: { owner, leased_until: until } },
            { sort: { requested_on: 1 }, returnDocument: "after", ...updateLimit },
          ),
        ),

      async keep(id: string, owner: string, until: Date, ranges: Backfill["ranges"]) {
        const $set = { leased_until: until, ranges };
        const { matchedCount } = await backfills.updateOne(
          { _id: id, ...isRunning, owner },
          { $set },
          updateLimit,
        );
        return matchedCount > 0;
      },

      async end(id: string, { state, reason, endedOn }: BackfillEnd) {
        const $set = { slot: id, state, reason, ended_on: endedOn };
        await backfills.updateOne({ _id: id, ...isRunning }, { $set }, updateLimit);
        return find(id);
      },
    }),
  };
}

export const toBackfillRecord = ({
  id,
  requestedOn,
  state,
  reason,
  ranges,
  ...request
}: Backfill): BackfillRecord => ({
  ...{ _id: id, slot: "", topic_id: request.topic.externalId, namespace: request.topic.namespace },
  ...{ requested_on: requestedOn, leased_until: request.startsOn, state, reason, ranges, request },
});

const fromRecord = ({ _id, requested_on, ended_on, state, reason, ranges, request }: BackfillRecord) => ({
  ...request,
  ...{ id: _id, requestedOn: requested_on, endedOn: ended_on ?? null, state, reason, ranges },
});
