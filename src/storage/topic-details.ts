import type { Collection } from "mongodb";

import type { StoredDetails } from "../topics/details.ts";
import { DetailsConflictError, type TopicDetailsStore } from "../topics/details-store.ts";
import { maxUpdateMs } from "./client-options.ts";
import { splitIntoBatches } from "../lib/batches.ts";
import type { Database } from "./database.ts";
import { isDuplicate } from "./failures.ts";
import { collections } from "./names.ts";
import type { SessionOptions } from "./positions.ts";
import { streamRecords } from "./queries.ts";
import { fromDetailsRecord, toDetailsRecord, type DetailsRecord } from "./topic-details-records.ts";
import { createDetailsSearch } from "./topic-search.ts";

const idsPerLookup = 200;
const recordsPerBatch = 1_000;

export function createTopicDetailsStore(database: Database): TopicDetailsStore {
  const all = database.collection<DetailsRecord>(collections.topicDetails);

  return {
    async find(externalIds) {
      const found = await Promise.all(
        splitIntoBatches(externalIds, idsPerLookup).map((ids) =>
          database.run(() => all.find({ _id: { $in: ids } }, { batchSize: ids.length + 1 }).toArray()),
        ),
      );
      return found.flat().map(fromDetailsRecord);
    },

    replace: (details) => database.run(() => writeDetails(all, [details], { maxTimeMS: maxUpdateMs })),

    remove: ({ externalId: _id, version }) =>
      database.run(async () => {
        const { deletedCount } = await all.deleteOne({ _id, version }, { maxTimeMS: maxUpdateMs });
        return deletedCount === 1;
      }),

    search: createDetailsSearch(database, all),

    streamSet(set) {
      const cursor = all.find({ set }, { sort: { _id: 1 }, batchSize: recordsPerBatch });
      return streamRecords(database, cursor, fromDetailsRecord);
    },
  };
}

/**
 * Writes next versions of details, also within a transaction. Throws a DetailsConflictError unless the stored
 * version of each is the one before. To be called within `Database.run`.
 */
export async function writeDetails(
  all: Collection<DetailsRecord>,
  details: readonly StoredDetails[],
  options: SessionOptions & { readonly maxTimeMS?: number },
): Promise<void> {
  if (details.length === 0) return;
  try {
    const { insertedCount, matchedCount } = await all.bulkWrite(
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
