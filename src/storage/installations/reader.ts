import type { Filter } from "mongodb";

import { UnavailableError } from "@topicsync/lib/errors";
import type { InstallationCount } from "../../../schemas/overview.ts";
import type { InstallationReader, InstallationSelection } from "../../installations/stores.ts";
import type { Database } from "../database/database.ts";
import { isTimeLimitExceeded } from "../database/failures.ts";
import { fromInstallationRecord, type InstallationRecord } from "./records.ts";
import { collections } from "../names.ts";
import { findPage, findRangeEnd, toIdRange } from "../queries.ts";

/** Bounds the time of a registration; the next one continues. */
const maxSurplus = 250;
/** Records that one query examines where no index selects them. */
const recordsPerScan = 1_000;
/**
 * Shorter than the driver's timeout, after which it would count a second time, while the first count keeps
 * running.
 */
const maxCountMs = 10_000;

interface ScopeGroup {
  readonly _id: { readonly application: string; readonly platform: string };
  readonly active: number;
  readonly all: number;
}

/**
 * Reads installations from MongoDB in `_id` order. Owners have an index. The other filters have none,
 * because every registration would have to maintain it (`last_seen_on` changes each time); they scan a
 * bounded range of ids per query instead, so that a rare match cannot make a query slow.
 */
export function createInstallationReader(database: Database): InstallationReader {
  const installations = database.collection<InstallationRecord>(collections.installations);

  return {
    read: (selection, { afterId, limit }) =>
      database.list(async () => {
        const selected = toFilter(selection);
        const isUnfiltered = Object.keys(selected).length === 0;
        const isIndexed = selection.user !== undefined;
        const endId =
          isUnfiltered || isIndexed ? undefined : await findRangeEnd(installations, afterId, recordsPerScan);
        const records = await installations
          .find(
            { ...selected, ...toIdRange(afterId, endId) },
            {
              sort: { _id: 1 },
              limit,
              batchSize: limit,
              // Otherwise MongoDB may choose the owner index for `application` and sort all of its matches.
              ...(isIndexed ? {} : { hint: { _id: 1 } }),
            },
          )
          .toArray();
        const isFull = records.length === limit;
        return {
          installations: records.map(fromInstallationRecord),
          lastId: isFull ? records.at(-1)?._id : endId,
          scanned: isFull || endId === undefined ? records.length : recordsPerScan,
        };
      }),

    readActive: ({ application, platforms, users, attributes = {} }, { after, limit }) =>
      database.run(async () => {
        const { records, next } = await findPage(installations, {
          filter: {
            ...{ application, platform: { $in: [...platforms] }, user: { $in: [...users] }, active: true },
            // Checked on the records that the owner index finds, which are read in any case.
            ...Object.fromEntries(
              Object.entries(attributes).map(([name, text]) => [`attributes.${name}`, text]),
            ),
          },
          sort: ["user", "_id"],
          after: after && [after.user, after.id],
          limit,
        });
        return { installations: records.map(fromInstallationRecord), hasNext: next !== undefined };
      }),

    findSurplus: ({ application, platforms, user, token, keep }) =>
      database.run(async () => {
        const records = await installations
          .find(
            { application, platform: { $in: [...platforms] }, user, active: true, token: { $ne: token } },
            { sort: { last_seen_on: -1, _id: -1 }, skip: keep, limit: maxSurplus },
          )
          .toArray();
        return records.map(fromInstallationRecord);
      }),

    countByScope: (selection) =>
      database.list(async () => {
        const groups = await installations
          .aggregate<ScopeGroup>(
            [
              { $match: toFilter(selection) },
              {
                $group: {
                  _id: { application: "$application", platform: "$platform" },
                  active: { $sum: { $cond: ["$active", 1, 0] } },
                  all: { $sum: 1 },
                },
              },
            ],
            { maxTimeMS: maxCountMs },
          )
          .toArray()
          .catch((error: unknown) => {
            if (!isTimeLimitExceeded(error)) throw error;
            throw new UnavailableError("there are too many installations to count them within 10 s");
          });
        return groups.map(toCount).toSorted(compareScopes);
      }),
  };
}

const toFilter = ({
  applications,
  platforms,
  user,
  active,
  tokenSuffix,
  unseenSince,
}: InstallationSelection): Filter<InstallationRecord> => ({
  ...(applications === undefined ? {} : { application: { $in: [...applications] } }),
  ...(platforms === undefined ? {} : { platform: { $in: [...platforms] } }),
  ...(user === undefined ? {} : { user }),
  ...(active === undefined ? {} : { active }),
  ...(tokenSuffix === undefined ? {} : { $expr: endsWith("$token", tokenSuffix) }),
  ...(unseenSince === undefined ? {} : { last_seen_on: { $lt: unseenSince } }),
});

const endsWith = (input: string, suffix: string) => ({
  $regexMatch: { input, regex: `${suffix.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` },
});

const toCount = ({ _id: { application, platform }, active, all }: ScopeGroup): InstallationCount => ({
  application,
  platform,
  active,
  inactive: all - active,
});

const compareScopes = (a: InstallationCount, b: InstallationCount): number =>
  a.application.localeCompare(b.application) || a.platform.localeCompare(b.platform);
