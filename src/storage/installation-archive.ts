import type { InstallationArchive } from "../installations/import.ts";
import type { Installation } from "../installations/installation.ts";
import type { Database } from "./database.ts";
import { isDuplicate, getWriteErrors } from "./failures.ts";
import { toInstallationRecord, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";

/** Puts imported installations into MongoDB. */
export function createInstallationArchive(database: Database): InstallationArchive {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /** Ids that a record has. Looked up: in a collection sharded by token, `_id` is unique within each shard only. */
  async function findIds(among: readonly Installation[]): Promise<ReadonlySet<string>> {
    if (among.length === 0) return new Set();
    const ids = among.map(({ id }) => id);
    const found = await installations.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  /** Gives those that a unique index refused. */
  async function insert(all: readonly Installation[]): Promise<Installation[]> {
    if (all.length === 0) return [];
    try {
      await installations.insertMany(all.map(toInstallationRecord), { ordered: false });
      return [];
    } catch (error) {
      const errors = getWriteErrors(error);
      if (errors?.every((one) => isDuplicate(one.error)) !== true) throw error;
      return errors.flatMap(({ index }) => all[index] ?? []);
    }
  }

  return {
    findKeys: (tokens) =>
      database.run(async () => {
        const projection = { token: 1, application: 1, platform: 1, sys_updated_on: 1 } as const;
        const found = await installations.find({ token: { $in: [...tokens] } }, { projection }).toArray();
        return found.map(({ _id: id, token, application, platform, sys_updated_on: updatedOn }) => {
          return { id, token, application, platform, updatedOn };
        });
      }),

    add: (given) =>
      database.run(async () => {
        const taken = await findIds(given);
        const failed = await insert(given.filter(({ id }) => !taken.has(id)));
        const takenMeanwhile = await findIds(failed);
        return new Map([
          ...given.filter(({ id }) => taken.has(id)).map((one) => [one, "id taken"] as const),
          ...failed.map((one) => [one, takenMeanwhile.has(one.id) ? "id taken" : "key taken"] as const),
        ]);
      }),

    replace: (replacements) =>
      database.run(async () => {
        if (replacements.length === 0) return 0;
        const operations = replacements.map(({ id, by }) => {
          const replacement = toInstallationRecord({ ...by, id });
          // The token names the shard. A record that was changed since it was looked at is newer than what is imported.
          const filter = { _id: id, token: by.token, sys_updated_on: { $lt: by.updatedOn } };
          return { replaceOne: { filter, replacement } };
        });
        return (await installations.bulkWrite(operations, { ordered: false })).matchedCount;
      }),
  };
}
