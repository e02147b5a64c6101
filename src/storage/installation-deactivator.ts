import type { InstallationDeactivator } from "../installations/deactivation.ts";
import type { InstallationKey } from "../installations/stores.ts";
import type { Database } from "./database.ts";
import { deactivation, type InstallationRecord } from "./installation-records.ts";
import { collections } from "./names.ts";

/** Deactivates chosen installations in MongoDB. */
export function createInstallationDeactivator(database: Database): InstallationDeactivator {
  const installations = database.collection<InstallationRecord>(collections.installations);
  const projection = { token: 1, application: 1, platform: 1 } as const;

  return {
    async deactivate(ids, reason) {
      const chosen = await database.run(() =>
        installations.find({ _id: { $in: [...ids] }, active: true }, { projection }).toArray(),
      );
      const update = deactivation(reason, new Date());
      const deactivated: InstallationKey[] = [];
      // One by one: only so it is known which of them somebody else has deactivated meanwhile. The token names the shard.
      for (const { _id, token, application, platform } of chosen) {
        try {
          const { modifiedCount } = await database.run(() =>
            installations.updateOne({ _id, token, active: true }, update),
          );
          if (modifiedCount === 1) deactivated.push({ token, application, platform });
        } catch (error) {
          // What is stored is told, for the audit.
          if (deactivated.length === 0) throw error;
          break;
        }
      }
      return deactivated;
    },
  };
}
