import type { Collection } from "mongodb";

import type { ReplacedDetails, StoredDetails } from "../../topics/details/details.ts";
import { DetailsConflictError, type TopicDetailsStore } from "../../topics/details/store.ts";
import { maxUpdateMs } from "../database/client-options.ts";
import type { Database } from "../database/database.ts";
import { isDuplicate } from "../database/failures.ts";
import { collections } from "../names.ts";
import type { SessionOptions } from "../positions.ts";
import { findByValues, streamRecords } from "../queries.ts";
import { fromDetailsRecord, toDetailsRecord, type DetailsRecord } from "./details-records.ts";
import { toDescriptionRecord, type DescriptionRecord } from "./descriptions.ts";
import { createDetailsSearch } from "./search.ts";
import { runInSession } from "../database/transactions.ts";

const recordsPerBatch = 1_000;

/** Where details are written. */
export interface DetailsCollections {
  readonly details: Collection<DetailsRecord>;
  readonly descriptions: Collection<DescriptionRecord>;
  /** How long replaced details are kept; undefined: for ever. */
  readonly retentionDays: number | undefined;
}

export const openDetailsCollections = (
  database: Database,
  retentionDays: number | undefined,
): DetailsCollections => ({
  details: database.collection<DetailsRecord>(collections.topicDetails),
  descriptions: database.collection<DescriptionRecord>(collections.topicDescriptions),
  retentionDays,
});

export function createTopicDetailsStore(
  database: Database,
  { historyRetentionDays }: { readonly historyRetentionDays: number | undefined },
): TopicDetailsStore {
  const stores = openDetailsCollections(database, historyRetentionDays);
  const all = stores.details;

  /** Runs a write in a transaction, if the store has them. */
  async function writeTogether(write: (options: SessionOptions) => Promise<void>): Promise<void> {
    const session = database.startSession();
    if (session === undefined) await database.run(() => write({}));
    else await runInSession(database, session, () => write({ session }));
  }

  return {
    find: async (externalIds) =>
      (await findByValues(database, all, ["_id", externalIds])).map(fromDetailsRecord),

    replace: (details, replaced) =>
      replaced.length === 0
        ? database.run(() => writeDetails(stores, { details: [details] }, { maxTimeMS: maxUpdateMs }))
        : writeTogether((options) => writeDetails(stores, { details: [details], replaced }, options)),

    search: createDetailsSearch(database, all),

    streamSet(set) {
      const cursor = all.find({ set }, { sort: { _id: 1 }, batchSize: recordsPerBatch });
      return streamRecords(database, { cursor, as: "run" }, fromDetailsRecord);
    },
  };
}

interface DetailsWrites {
  readonly details: readonly StoredDetails[];
  readonly replaced?: readonly ReplacedDetails[];
}

/** Writes the history. To be called within `Database.run`. */
export async function writeReplaced(
  { descriptions, retentionDays }: DetailsCollections,
  replaced: readonly ReplacedDetails[],
  options: SessionOptions,
): Promise<void> {
  if (replaced.length === 0) return;
  await descriptions.bulkWrite(
    replaced.map((one) => {
      const { _id, ...replacement } = toDescriptionRecord(one, retentionDays);
      return { replaceOne: { filter: { _id }, replacement, upsert: true } };
    }),
    options,
  );
}

/**
 * Writes next versions of details, also within a transaction. Without one, history comes first: readers
 * ignore details that are still the stored ones. Throws a DetailsConflictError unless the stored version of
 * each is the one before. To be called within `Database.run`.
 */
export async function writeDetails(
  stores: DetailsCollections,
  { details, replaced = [] }: DetailsWrites,
  options: SessionOptions & { readonly maxTimeMS?: number },
): Promise<void> {
  await writeReplaced(stores, replaced, options);
  if (details.length === 0) return;
  try {
    const { insertedCount, matchedCount } = await stores.details.bulkWrite(
      details.map((one) => {
        const { _id, ...replacement } = toDetailsRecord(one);
        return one.version === 1
          ? { insertOne: { document: { _id, ...replacement } } }
          : { replaceOne: { filter: { _id, version: one.version - 1 }, replacement } };
      }),
      options,
    );
    if (insertedCount + matchedCount < details.length) throw new DetailsConflictError();
  } catch (error) {
    throw isDuplicate(error) ? new DetailsConflictError({ cause: error }) : error;
  }
}
