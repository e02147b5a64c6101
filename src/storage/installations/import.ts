import type { Installation } from "../../installations/installation.ts";
import type { InstallationImportStore } from "../../installations/stores.ts";
import { runEach, type Database } from "../database/database.ts";
import { getDuplicates } from "../database/failures.ts";
import { toInstallationRecord, type InstallationRecord } from "./records.ts";
import { collections } from "../names.ts";
import { maxUpdateMs } from "../database/client-options.ts";

export function createInstallationImportStore(database: Database): InstallationImportStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  /**
   * Returns the ids that exist. An insertion cannot check: a sharded `_id` is unique only within its shard.
   */
  async function findIds(candidates: readonly Installation[]): Promise<ReadonlySet<string>> {
    if (candidates.length === 0) return new Set();
    const ids = candidates.map(({ id }) => id);
    const found = await installations.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
    return new Set(found.map(({ _id }) => _id));
  }

  /** Returns those that a unique index rejected. */
  async function insert(candidates: readonly Installation[]): Promise<Installation[]> {
    if (candidates.length === 0) return [];
    await database.ensureIndexes(collections.installations);
    try {
      await installations.insertMany(candidates.map(toInstallationRecord), {
        ordered: false,
        maxTimeMS: maxUpdateMs,
      });
      return [];
    } catch (error) {
      return getDuplicates(error).flatMap(({ index }) => candidates[index] ?? []);
    }
  }

  return runEach(database, {
    async findKeys(tokens) {
      const projection = { token: 1, application: 1, platform: 1, sys_updated_on: 1 } as const;
      const found = await installations.find({ token: { $in: [...tokens] } }, { projection }).toArray();
      return found.map(({ _id: id, token, application, platform, sys_updated_on: updatedOn }) => {
        return { id, token, application, platform, updatedOn };
      });
    },

    async add(candidates) {
      const taken = await findIds(candidates);
      const failed = await insert(candidates.filter(({ id }) => !taken.has(id)));
      const takenMeanwhile = await findIds(failed);
      return new Map([
        ...candidates.filter(({ id }) => taken.has(id)).map((one) => [one, "id taken"] as const),
        ...failed.map((one) => [one, takenMeanwhile.has(one.id) ? "id taken" : "key taken"] as const),
      ]);
    },

    async replace(replacements) {
      if (replacements.length === 0) return 0;
      const operations = replacements.map(({ id, by }) => {
        const replacement = toInstallationRecord({ ...by, id });
        // The token is the shard key. A record changed since the look-up is newer than the imported one.
        const filter = { _id: id, token: by.token, sys_updated_on: { $lt: by.updatedOn } };
        return { replaceOne: { filter, replacement } };
      });
      return (await installations.bulkWrite(operations, { ordered: false, maxTimeMS: maxUpdateMs }))
        .matchedCount;
    },
  });
}
