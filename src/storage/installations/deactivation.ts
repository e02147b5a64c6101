import type { Collection, Filter } from "mongodb";

import { currentDate } from "@topicsync/lib/platform";
import { splitIntoBatches } from "@topicsync/lib/concurrency/batches";
import type { InstallationKey } from "../../installations/installation.ts";
import type { DeactivateAllRequest, InstallationDeactivator } from "../../installations/stores.ts";
import type { Database } from "../database/database.ts";
import { toDeactivation, type InstallationRecord } from "./records.ts";
import { collections } from "../names.ts";
import { updateLimit } from "../database/client-options.ts";

/** A slow store needs some milliseconds for each record. */
const recordsPerUpdate = 250;

type SeenRecord = Pick<InstallationRecord, "_id" | "sys_updated_on">;

export function createInstallationDeactivator(database: Database): InstallationDeactivator {
  const installations = database.collection<InstallationRecord>(collections.installations);
  return {
    async deactivateByIds(ids, reason, unseenSince) {
      const selected = { active: true, ...(unseenSince && { last_seen_on: { $lt: unseenSince } }) };
      const deactivated = new Map<string, InstallationKey>();
      try {
        await database.run(() =>
          runConfirmed(database, () =>
            deactivateByIds(installations, { ids, selected, reason }, deactivated),
          ),
        );
      } catch (error) {
        if (deactivated.size === 0) throw error;
      }
      return [...deactivated.values()];
    },

    async deactivateUnseen(ids, { unseenSince, reason }) {
      let count = 0;
      for (const chunk of splitIntoBatches(ids, recordsPerUpdate)) {
        const filter = { _id: { $in: chunk }, active: true, last_seen_on: { $lt: unseenSince } };
        const update = toDeactivation(reason, currentDate());
        const { modifiedCount } = await database.run(() =>
          installations.updateMany(filter, update, updateLimit),
        );
        count += modifiedCount;
      }
      return count;
    },

    async deleteInactive(ids, before) {
      let count = 0;
      for (const chunk of splitIntoBatches(ids, recordsPerUpdate)) {
        // An imported record may have no time of its deactivation. A registration removes the time.
        const $or = [
          { deactivated_on: { $lt: before } },
          { deactivated_on: null, sys_updated_on: { $lt: before } },
        ] as unknown as Filter<InstallationRecord>[];
        const filter = { _id: { $in: chunk }, active: false, $or };
        count += (await database.run(() => installations.deleteMany(filter, updateLimit))).deletedCount;
      }
      return count;
    },

    deactivateAll: (request) =>
      database.run(() => runConfirmed(database, () => deactivateActive(installations, request))),
  };
}

async function deactivateRead(
  installations: Collection<InstallationRecord>,
  records: readonly SeenRecord[],
  reason: string,
): Promise<void> {
  const now = currentDate();
  // A record written by another program may have no time, or a text instead.
  const times = records.map(({ sys_updated_on }) => Number(sys_updated_on)).filter(Number.isFinite);
  const newest = Math.max(0, ...times);
  await installations.updateMany(
    {
      _id: { $in: records.map(({ _id }) => _id) },
      active: true,
      // Records registered again since they were read stay active, even if the store runs this late.
      sys_updated_on: { $not: { $gt: new Date(newest) } },
    },
    // Not older than the newest, so that registrations that come later are newer than it.
    toDeactivation(reason, now, new Date(Math.max(now.getTime(), newest))),
    updateLimit,
  );
}

/**
 * In batches: a single update would exceed any time limit, and its outcome would be unknown. The owner
 * index does not change while records are deactivated, and inactive records are skipped here rather than
 * by the query, so each batch of the cursor is small.
 */
async function deactivateActive(
  installations: Collection<InstallationRecord>,
  { application, platform, reason }: DeactivateAllRequest,
): Promise<void> {
  const records = installations.find(
    { application, platform },
    { projection: { active: 1, sys_updated_on: 1 }, batchSize: recordsPerUpdate },
  );
  let batch: SeenRecord[] = [];
  for await (const record of records) {
    if (record.active) batch.push(record);
    if (batch.length < recordsPerUpdate) continue;
    await deactivateRead(installations, batch, reason);
    batch = [];
  }
  if (batch.length > 0) await deactivateRead(installations, batch, reason);
}

/**
 * Repeats the work when an election may have rolled back what it read: a token that it skipped as inactive
 * may be active again.
 */
async function runConfirmed(database: Database, work: () => Promise<void>): Promise<void> {
  let primary;
  do {
    primary = database.getPrimary();
    await work();
  } while (!(await database.confirmReads(primary, [collections.installations])));
}

interface Deactivation {
  readonly ids: readonly string[];
  readonly selected: Filter<InstallationRecord>;
  readonly reason: string;
}

async function deactivateByIds(
  installations: Collection<InstallationRecord>,
  { ids, selected, reason }: Deactivation,
  deactivated: Map<string, InstallationKey>,
): Promise<void> {
  const records = await installations
    .find(
      { _id: { $in: ids.filter((id) => !deactivated.has(id)) }, ...selected },
      { projection: { token: 1, application: 1, platform: 1, sys_updated_on: 1 } },
    )
    .toArray();
  const update = toDeactivation(reason, currentDate());
  // One update each, to know which records others have deactivated. The token is the shard key. Like every
  // removal, it spares a record that was registered again since it was read, even if the store runs it late.
  for (const { _id, token, application, platform, sys_updated_on = null } of records) {
    const filter = { _id, token, ...selected, sys_updated_on } as Filter<InstallationRecord>;
    const { modifiedCount } = await installations.updateOne(filter, update, updateLimit);
    if (modifiedCount === 1) deactivated.set(_id, { token, application, platform });
  }
}
