import type { RemoveAllTokens } from "../installations/removal.ts";
import type { Database } from "./database.ts";
import { deactivation, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";

/** A slow store takes some milliseconds for each. */
const recordsPerUpdate = 250;

type Found = Pick<InstallationRecord, "_id" | "last_seen_on">;

/**
 * Creates the removal of everybody's tokens in MongoDB. Not one update of all: it would take longer than any time limit, and
 * whether it still runs would not be known. The index of owners leads to the records. Its order does not change while they
 * are deactivated, and inactive ones are passed over here and not by the query, so that every batch of the cursor is small.
 */
export function createInstallationRemoval(database: Database): RemoveAllTokens {
  const installations = database.collection<InstallationRecord>(collections.installations);

  async function deactivate(records: readonly Found[], reason: string): Promise<void> {
    // Something else may have stored a record without a time, or with a text in its place.
    const seen = records.map(({ last_seen_on }) => Number(last_seen_on)).filter(Number.isFinite);
    await installations.updateMany(
      {
        _id: { $in: records.map(({ _id }) => _id) },
        active: true,
        // Registered again since it was read, it stays active, also where the store carries this out late.
        last_seen_on: { $not: { $gt: new Date(Math.max(0, ...seen)) } },
      },
      deactivation(reason, new Date()),
    );
  }

  return ({ application, platform, reason }) =>
    database.run(async () => {
      const records = installations.find(
        { application, platform },
        { projection: { active: 1, last_seen_on: 1 }, batchSize: recordsPerUpdate },
      );
      let found: Found[] = [];
      for await (const record of records) {
        if (record.active) found.push(record);
        if (found.length < recordsPerUpdate) continue;
        await deactivate(found, reason);
        found = [];
      }
      if (found.length > 0) await deactivate(found, reason);
    });
}
