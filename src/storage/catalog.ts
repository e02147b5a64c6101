import { NameTakenError } from "@topicsync/lib/errors";
import { newId } from "@topicsync/lib/sys-id";
import type { CatalogStore, NamedStore, PushApplication, PushPlatform } from "../installations/catalog.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections, type CollectionName } from "./names.ts";
import { maxUpdateMs } from "./database/client-options.ts";
import { changeOne } from "./update-command.ts";

interface NamedRecord {
  _id: string;
  name: string;
  active: boolean;
  /** Platforms only. */
  token_rule?: string;
}

export const createCatalogStore = (database: Database): CatalogStore => ({
  applications: createNamedStore<PushApplication>(database, {
    collection: collections.applications,
    fromRecord: ({ name, active }) => ({ name, active }),
  }),
  platforms: createNamedStore<PushPlatform>(database, {
    collection: collections.platforms,
    fromRecord: ({ name, active, token_rule }) => ({ name, active, tokenRule: token_rule }),
  }),
});

interface NamedStoreOptions<T> {
  readonly collection: CollectionName;
  readonly fromRecord: (record: NamedRecord) => T;
}

function createNamedStore<T extends PushPlatform>(
  database: Database,
  { collection, fromRecord }: NamedStoreOptions<T>,
): NamedStore<T> {
  const records = database.collection<NamedRecord>(collection);

  const insert = async ({ name, active, tokenRule }: PushPlatform): Promise<void> => {
    const rule = tokenRule === undefined ? {} : { token_rule: tokenRule };
    try {
      await database.ensureIndexes(collection);
      await records.insertOne({ _id: newId(), name, active, ...rule }, { maxTimeMS: maxUpdateMs });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      throw new NameTakenError(`the name "${name}" is already in use`, { cause: error });
    }
  };

  return runEach(database, {
    list: async () => (await records.find({}, { sort: { name: 1 } }).toArray()).map(fromRecord),
    async find(name) {
      const record = await records.findOne({ name });
      return record === null ? undefined : fromRecord(record);
    },
    insert,
    async change(name, { active, tokenRule }) {
      const $set = {
        ...(active === undefined ? {} : { active }),
        ...(typeof tokenRule === "string" ? { token_rule: tokenRule } : {}),
      };
      const $unset = tokenRule === null ? { token_rule: "" as const } : {};
      return changeOne(records, { name }, { $set, $unset });
    },
    async ensure(names) {
      for (const name of names) {
        if ((await records.findOne({ name })) !== null) continue;
        await insert({ name, active: true }).catch((error: unknown) => {
          // Another instance added it at the same time.
          if (!(error instanceof NameTakenError)) throw error;
        });
      }
    },
  });
}
