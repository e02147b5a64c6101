import type { AnyBulkWriteOperation, Collection, Filter } from "mongodb";

import { TransactionConflictError } from "@topicsync/lib/errors";
import { toRenamedDetails, toReplacedDetails } from "../../topics/details/details.ts";
import type { RenamedTopic } from "../../topics/stores.ts";
import type { Topic } from "../../topics/topic.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import type { SessionOptions } from "../positions.ts";
import { fromDetailsRecord, toDetailsRecord } from "./details-records.ts";
import { openDetailsCollections, writeReplaced } from "./details.ts";
import type { UsageRecord } from "./usage.ts";

/**
 * Creates the function that moves what is stored under external ids, details and usage, when topics are
 * renamed. What another topic left under a new external id is replaced. To be called within `Database.run`.
 */
export function createRenames(
  database: Database,
  retentionDays: number | undefined,
): (renamed: readonly RenamedTopic[], options: SessionOptions) => Promise<void> {
  const stores = openDetailsCollections(database, retentionDays);
  const usage = database.collection<UsageRecord>(collections.topicUsage);
  return async (renamed, options) => {
    if (renamed.length === 0) return;
    const described = await findMoves(stores.details, { renamed, options });
    const moves = described.moves.map(({ record, left, topics }) => {
      const [moved, other] = [fromDetailsRecord(record), left && fromDetailsRecord(left)];
      const next = toRenamedDetails(moved, other, { ...topics, ...toAuthor(topics.to) });
      const isLeft = !described.freed.has(topics.to.externalId);
      const replaced = [
        ...toReplacedDetails(moved, next, topics.from.id),
        ...(isLeft ? toReplacedDetails(other, next, undefined) : []),
      ];
      return { next, replaced };
    });
    await writeReplaced(
      stores,
      moves.flatMap(({ replaced }) => replaced),
      options,
    );
    await moveRecords(
      stores.details,
      described,
      moves.map(({ next }) => toDetailsRecord(next)),
      options,
    );
    const used = await findMoves(usage, { renamed, options });
    const counts = used.moves.map(({ record, topics }) => ({ ...record, _id: topics.to.externalId }));
    await moveRecords(usage, used, counts, options);
  };
}

/** Only users rename topics. */
const toAuthor = ({ source, updatedOn }: Topic): { readonly by: string; readonly at: Date } => ({
  by: source.kind === "http" ? source.user : "",
  at: updatedOn,
});

interface Renames {
  readonly renamed: readonly RenamedTopic[];
  readonly options: SessionOptions;
}

interface Moves<R> {
  readonly moves: readonly {
    readonly record: R;
    /** What is stored under the new external id. */
    readonly left: R | undefined;
    readonly topics: RenamedTopic;
  }[];
  /** What is stored under the old external ids. */
  readonly freed: ReadonlyMap<string, R>;
}

async function findMoves<R extends { _id: string }>(
  all: Collection<R>,
  { renamed, options }: Renames,
): Promise<Moves<R>> {
  const ids = renamed.flatMap(({ from, to }) => [from.externalId, to.externalId]);
  const found = await all
    .find({ _id: { $in: ids } } as Filter<R>, { ...options, batchSize: ids.length + 1 })
    .toArray();
  const records = new Map((found as R[]).map((record) => [record._id, record]));
  const moves = renamed.flatMap((topics) => {
    const record = records.get(topics.from.externalId);
    return record === undefined ? [] : [{ record, left: records.get(topics.to.externalId), topics }];
  });
  return { moves, freed: new Map(moves.map(({ record }) => [record._id, record])) };
}

/**
 * Stores records under their new external ids. In a transaction, what was changed since it was read is a
 * conflict, which not every product notices.
 */
async function moveRecords<R extends { _id: string; version?: number }>(
  all: Collection<R>,
  { moves, freed }: Moves<R>,
  moved: readonly R[],
  options: SessionOptions,
): Promise<void> {
  if (moved.length === 0) return;
  const taken = new Set(moved.map(({ _id }) => _id));
  const left = new Map([...freed, ...moves.flatMap(({ left }) => (left ? [[left._id, left] as const] : []))]);
  const toRead = (_id: string) => ({ _id, version: left.get(_id)?.version ?? null });
  const removed = [...freed.keys()].filter((_id) => !taken.has(_id));
  const isChecked = options.session !== undefined;
  const { matchedCount, upsertedCount, deletedCount } = await all.bulkWrite(
    [
      ...moved.map(({ _id, ...replacement }) => ({
        replaceOne: isChecked
          ? { filter: toRead(_id), replacement, upsert: !left.has(_id) }
          : { filter: { _id }, replacement, upsert: true },
      })),
      // Without a transaction, what was changed in between stays.
      ...removed.map((_id) => ({ deleteOne: { filter: toRead(_id) } })),
    ] as AnyBulkWriteOperation<R>[],
    options,
  );
  const done = matchedCount + upsertedCount + deletedCount;
  if (isChecked && done < moved.length + removed.length)
    throw new TransactionConflictError("a renamed topic was described at the same time");
}
