import type { Filter, UpdateFilter } from "mongodb";

import type { InstallationKey, InstallationStore } from "../installations/service.ts";
import type { Database } from "./database.ts";
import { violatedIndex } from "./failures.ts";
import { collections } from "./names.ts";

interface InstallationRecord {
  _id: string;
  token: string;
  application: string;
  platform: string;
  user: string;
  active: boolean;
  sys_created_on: Date;
  sys_updated_on: Date;
  last_seen_on: Date;
  deactivated_on?: Date;
  deactivated_reason?: string;
  /** Whose it was before, the latest last, and until when. */
  previous_owners?: { user: string; until: Date }[];
}

/** Owners beyond these are forgotten, the oldest first: a record must not grow without end. */
const mostOwnersKept = 20;

/** The store of installations in MongoDB. */
export function createInstallationStore(database: Database, newId: () => string): InstallationStore {
  const installations = database.collection<InstallationRecord>(collections.installations);

  async function update(
    filter: Filter<InstallationRecord>,
    change: UpdateFilter<InstallationRecord>,
  ): Promise<boolean> {
    return (await installations.updateOne(filter, change)).matchedCount === 1;
  }

  /** Tries the three ways a registration can go; false when another request changed the record in between. */
  async function registerOnce(key: InstallationKey, user: string): Promise<boolean> {
    const now = new Date();
    const seen = { user, active: true, sys_updated_on: now, last_seen_on: now };
    const $unset = { deactivated_on: "", deactivated_reason: "" } as const;
    // Most registrations repeat one of the same user's: one round trip.
    if (await update({ ...key, user }, { $set: seen, $unset })) return true;

    const current = await installations.findOne(key);
    if (current === null) {
      try {
        await installations.insertOne({ _id: newId(), ...key, ...seen, sys_created_on: now });
        return true;
      } catch (error) {
        if (violatedIndex(error) === undefined) throw error;
        return false;
      }
    }
    const owner = { user: current.user, until: now };
    const $push = { previous_owners: { $each: [owner], $slice: -mostOwnersKept } };
    return update({ ...key, user: current.user }, { $set: seen, $unset, $push });
  }

  return {
    register: (key, user) =>
      database.run(async () => {
        while (!(await registerOnce(key, user)));
      }),

    deactivate: ({ application, platform, user, reason }) =>
      database.run(async () => {
        const now = new Date();
        const mine = user === undefined ? {} : { user };
        const { modifiedCount } = await installations.updateMany(
          { application, platform, ...mine, active: true },
          { $set: { active: false, sys_updated_on: now, deactivated_on: now, deactivated_reason: reason } },
        );
        return modifiedCount;
      }),
  };
}
