import type { Collection, Filter } from "mongodb";

import type { InstallationFilter, InstallationReader } from "../installations/listing.ts";
import type { InstallationSweeper } from "../installations/sweep.ts";
import type { Database } from "./database.ts";
import { deactivation, fromRecord, type InstallationRecord } from "./installation-records.ts";
import { chunks } from "./look-up.ts";
import { collections } from "./names.ts";

/** Looked at by one question, in the order of ids. */
const recordsAStretch = 1_000;
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
    read: ({ tokens, ...filter }, { after, limit }) =>
      database.run(async () => {
        const chosen = {
          ...toFilter(filter),
          ...(tokens === undefined ? {} : { token: { $in: [...tokens] } }),
        };
        const isDirect = tokens !== undefined || Object.keys(chosen).length === 0 || isOwners(filter);
        const end = isDirect ? undefined : await endOfStretch(installations, after);
        const found = await installations
          .find({ ...chosen, ...between(after, end) }, { sort: { _id: 1 }, limit, batchSize: limit + 1 })
          .toArray();
        const isFull = found.length === limit;
        return {
          installations: found.map(fromRecord),
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
      sort: { _id: 1 },
      skip: recordsAStretch - 1,
      limit: 1,
      projection: { _id: 1 },
    })
    .toArray();
  return end?._id;
}

/** An index leads to a user's tokens of an application on a platform. */
const isOwners = ({ application, platform, user }: InstallationFilter): boolean =>
  application !== undefined && platform !== undefined && user !== undefined;

function between(after: string | undefined, end: string | undefined): Filter<InstallationRecord> {
  if (after === undefined && end === undefined) return {};
  return {
    _id: { ...(after === undefined ? {} : { $gt: after }), ...(end === undefined ? {} : { $lte: end }) },
  };
}

function toFilter({ application, platform, user, active, unseenSince }: InstallationFilter) {
  const equal = Object.entries({ application, platform, user, active });
  const filter: Filter<InstallationRecord> = Object.fromEntries(
    equal.filter(([, value]) => value !== undefined),
  );
  return unseenSince === undefined ? filter : { ...filter, last_seen_on: { $lt: unseenSince } };
}
