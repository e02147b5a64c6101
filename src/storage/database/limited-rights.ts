import type { Database } from "./database.ts";
import { collections } from "../names.ts";

/** Whether a user or an API key has a right that is limited to a namespace. Throws UnavailableError. */
export const hasLimitedRights = (database: Database): Promise<boolean> =>
  database.run(async () => {
    for (const name of [collections.users, collections.keys]) {
      const holders = database.collection(name);
      if ((await holders.findOne({ roles: /@/ }, { projection: { _id: 1 } })) !== null) return true;
    }
    return false;
  });
