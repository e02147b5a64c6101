import { NameTakenError } from "@topicsync/lib/errors";
import { newId } from "@topicsync/lib/sys-id";
import type { CatalogRecord, CatalogStore, NamedStore } from "../installations/catalog.ts";
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
  applications: createNamedStore(database, collections.applications),
  platforms: createNamedStore(database, collections.platforms),
});

const fromRecord = ({ name, active, token_rule: tokenRule }: NamedRecord): CatalogRecord => ({
  name,
  active,
  tokenRule,
});

function createNamedStore(database: Database, collection: CollectionName): NamedStore {
  const records = database.collection<NamedRecord>(collection);

  return runEach(database, {
    list: async () => (await records.find({}, { sort: { name: 1 } }).toArray()).map(fromRecord),
    async find(name) {
      const record = await records.findOne({ name });
      return record === null ? undefined : fromRecord(record);
    },
    async insert({ name, active, tokenRule }) {
      const rule = tokenRule === undefined ? {} : { token_rule: tokenRule };
      try {
        await database.ensureIndexes(collection);
        await records.insertOne({ _id: newId(), name, active, ...rule }, { maxTimeMS: maxUpdateMs });
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        throw new NameTakenError(`the name "${name}" is already in use`, { cause: error });
      }
    },
    async change(name, { active, tokenRule }) {
      const $set = {
        ...(active === undefined ? {} : { active }),
        ...(typeof tokenRule === "string" ? { token_rule: tokenRule } : {}),
      };
      const $unset = tokenRule === null ? { token_rule: "" as const } : {};
      return changeOne(records, { name }, { $set, $unset });
    },
  });
}
