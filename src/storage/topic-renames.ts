import type { AnyBulkWriteOperation, Collection, Filter } from "mongodb";

import { toRenamedDetails } from "../topics/details.ts";
import type { RenamedTopic } from "../topics/stores.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import type { SessionOptions } from "./positions.ts";
import { fromDetailsRecord, toDetailsRecord, type DetailsRecord } from "./topic-details-records.ts";
import type { UsageRecord } from "./topic-usage.ts";

/**
 * Creates the function that moves what is stored under external ids, details and usage, when topics are
 * renamed. What another topic left under a new external id is replaced. To be called within `Database.run`.
 */
export function createRenames(
  database: Database,
): (renamed: readonly RenamedTopic[], options: SessionOptions) => Promise<void> {
  const details = database.collection<DetailsRecord>(collections.topicDetails);
  const usage = database.collection<UsageRecord>(collections.topicUsage);
  return async (renamed, options) => {
    if (renamed.length === 0) return;
    await moveRecords(details, { renamed, options }, (record, left, topics) =>
      toDetailsRecord(toRenamedDetails(fromDetailsRecord(record), left?.version, topics)),
    );
    await moveRecords(usage, { renamed, options }, (record, _left, { to }) => ({
      ...record,
      _id: to.externalId,
    }));
  };
}

interface Renames {
  readonly renamed: readonly RenamedTopic[];
  readonly options: SessionOptions;
}

async function moveRecords<R extends { _id: string; version?: number }>(
  all: Collection<R>,
  { renamed, options }: Renames,
  rename: (record: R, left: R | undefined, topics: RenamedTopic) => R,
): Promise<void> {
  const ids = renamed.flatMap(({ from, to }) => [from.externalId, to.externalId]);
  const found = await all
    .find({ _id: { $in: ids } } as Filter<R>, { ...options, batchSize: ids.length + 1 })
    .toArray();
  const records = new Map((found as R[]).map((record) => [record._id, record]));
  const moved = renamed.flatMap((topics) => {
    const record = records.get(topics.from.externalId);
    return record === undefined ? [] : [rename(record, records.get(topics.to.externalId), topics)];
  });
  if (moved.length === 0) return;
  const taken = new Set(moved.map(({ _id }) => _id));
  await all.bulkWrite(
    [
      ...moved.map(({ _id, ...replacement }) => ({
        replaceOne: { filter: { _id }, replacement, upsert: true },
      })),
      // Without a transaction, what was changed in between stays.
      ...renamed.flatMap(({ from: { externalId: _id } }) =>
        records.has(_id) && !taken.has(_id)
          ? [{ deleteOne: { filter: { _id, version: records.get(_id)?.version ?? null } } }]
          : [],
      ),
    ] as AnyBulkWriteOperation<R>[],
    options,
  );
}
