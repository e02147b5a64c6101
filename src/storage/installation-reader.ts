import type { Collection } from "mongodb";

import type { InstallationReader } from "../installations/listing.ts";
import type { InstallationSweeper } from "../installations/sweep.ts";
import type { Database } from "./database.ts";
import { between, toFilter } from "./installation-filter.ts";
import { deactivation, fromInstallationRecord, type InstallationRecord } from "./installation-records.ts";
import { readScopes } from "./installation-scopes.ts";
import { chunks } from "./look-up.ts";
import { collections } from "./names.ts";

/** Looked at by one question, in the order of ids. */
const recordsAStretch = 1_000;
const inOrder = { sort: { _id: 1 } } as const;
/** SecantusDB sorts what it found otherwise, which takes it four times as long. */
const byId = { hint: { _id: 1 } } as const;
/** A slow store takes some milliseconds for each. */
const recordsADeactivation = 250;

/**
 * Reads installations in MongoDB in the order of their ids, which every store has an index of. There is none on
 * `last_seen_on`: every registration changes it, so that each would pay for an index that only a sweep now and then uses.
 * Where no index leads to what is meant, the ids of a stretch are looked at first, so that no question takes long.
 */
export function createInstallationReader(database: Database): InstallationReader & InstallationSweeper {
  const installations = database.collection<InstallationRecord>(collections.installations);

  return {
    read: ({ tokens, scopes, ...filter }, { after, limit }) =>
      database.run(async () => {
        if (scopes !== undefined) return readScopes(installations, { filter, scopes, after, limit });
        const chosen = {
          ...toFilter(filter),
          ...(tokens === undefined ? {} : { token: { $in: [...tokens] } }),
        };
        const isDirect = tokens !== undefined || Object.keys(chosen).length === 0;
        const end = isDirect ? undefined : await endOfStretch(installations, after);
        const found = await installations
          .find(
            { ...chosen, ...between(after, end) },
            { ...inOrder, ...(tokens === undefined ? byId : {}), limit, batchSize: limit + 1 },
          )
          .toArray();
        const isFull = found.length === limit;
        return {
          installations: found.map(fromInstallationRecord),
          last: isFull ? found.at(-1)?._id : end,
          looked: isFull || end === undefined ? found.length : recordsAStretch,
        };
      }),

    count: () => database.run(() => installations.estimatedDocumentCount()),

    async deactivate(ids, { unseenSince, reason }) {
      let count = 0;
      for (const some of chunks(ids, recordsADeactivation)) {
        // Whoever was seen since the look does not match any more.
        const filter = { _id: { $in: some }, active: true, last_seen_on: { $lt: unseenSince } };
        const update = deactivation(reason, new Date());
        const { modifiedCount } = await database.run(() => installations.updateMany(filter, update));
        count += modifiedCount;
      }
      return count;
    },
  };
}

/** Undefined when there are no more records than a stretch has. */
async function endOfStretch(
  installations: Collection<InstallationRecord>,
  after: string | undefined,
): Promise<string | undefined> {
  const [end] = await installations
    .find(between(after, undefined), {
      ...inOrder,
      ...byId,
      skip: recordsAStretch - 1,
      limit: 1,
      projection: { _id: 1 },
    })
    .toArray();
  return end?._id;
}
