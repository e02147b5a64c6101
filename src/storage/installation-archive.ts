import type { InstallationArchive } from "../installations/import.ts";
import type { Installation } from "../installations/installation.ts";
import type { Database } from "./database.ts";
import { violatedIndex, writeErrorsOf } from "./failures.ts";
import { uniqueIndexes } from "./indexes.ts";
import { toRecord, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";

/** Puts imported installations into MongoDB. */
export function createInstallationArchive(database: Database): InstallationArchive {
  const installations = database.collection<InstallationRecord>(collections.installations);

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
        const failed = new Map<Installation, "id taken" | "key taken">();
        if (given.length === 0) return failed;
        try {
          await installations.insertMany(given.map(toRecord), { ordered: false });
        } catch (error) {
          const errors = writeErrorsOf(error);
          if (errors === undefined) throw error;
          for (const { index, error: one } of errors) {
            const violated = violatedIndex(one);
            const failing = given[index];
            if (violated === undefined || failing === undefined) throw one;
            failed.set(failing, violated === uniqueIndexes.installation ? "key taken" : "id taken");
          }
        }
        return failed;
      }),

    replace: (replacements) =>
      database.run(async () => {
        if (replacements.length === 0) return 0;
        const operations = replacements.map(({ id, by }) => {
          const replacement = toRecord({ ...by, id });
          // The token names the shard. A record that was changed since it was looked at is newer than what is imported.
          const filter = { _id: id, token: by.token, sys_updated_on: { $lt: by.updatedOn } };
          return { replaceOne: { filter, replacement } };
        });
        return (await installations.bulkWrite(operations, { ordered: false })).matchedCount;
      }),
  };
}
