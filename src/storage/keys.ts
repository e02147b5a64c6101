import type { KeyStore, StoredKey } from "../users/key.ts";
import { maxUpdateMs } from "./database/client-options.ts";
import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";
import { findPage } from "./queries.ts";

interface KeyRecord {
  _id: string;
  name: string;
  /** A unique index on name and slot allows one key per slot. */
  slot: number;
  digest: string;
  roles: readonly string[];
  created_on: Date;
  created_by: string;
  /** Missing in records of the command line, of users of an OpenID provider, and of earlier versions. */
  maker?: string;
  expires_on: Date;
  last_used_on?: Date;
}

/** Keys with the same name. */
const slots = [1, 2];

/** Stores API keys; a TTL index removes those that expired long ago. */
export function createKeyStore(database: Database): KeyStore {
  const keys = database.collection<KeyRecord>(collections.keys);

  async function tryInsert(record: KeyRecord): Promise<boolean> {
    try {
      await database.ensureIndexes(collections.keys);
      await keys.insertOne(record, { maxTimeMS: maxUpdateMs });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  return runEach(database, {
    async insert(key, { at, since }) {
      const ended = { $or: [{ expires_on: { $lte: at } }, { created_on: { $lte: since } }] };
      await keys.deleteMany({ name: key.name, ...ended }, { maxTimeMS: maxUpdateMs });
      // Another request may take a slot at the same time, so the index decides.
      for (const slot of slots) if (await tryInsert(toKeyRecord(key, slot))) return true;
      // A write that was repeated after an outage may have been stored the first time.
      return (await keys.findOne({ _id: key.id })) !== null;
    },

    async findByDigest(digest) {
      const record = await keys.findOne({ digest });
      return record === null ? undefined : fromKeyRecord(record);
    },

    async findPage(query) {
      const { records, next } = await findPage(keys, { ...query, filter: {}, sort: ["name", "slot"] });
      const last = next && records.at(-1);
      return { keys: records.map(fromKeyRecord), next: last && [last.name, last.slot] };
    },

    async remove(id) {
      const record = await keys.findOne({ _id: id });
      if (record === null) return undefined;
      await keys.deleteOne({ _id: id }, { maxTimeMS: maxUpdateMs });
      return fromKeyRecord(record);
    },

    async markUsed(id, usedOn) {
      await keys.updateOne({ _id: id }, { $max: { last_used_on: usedOn } }, { maxTimeMS: maxUpdateMs });
    },
  });
}

export const toKeyRecord = (key: StoredKey, slot: number): KeyRecord => ({
  _id: key.id,
  name: key.name,
  slot,
  digest: key.digest,
  roles: key.roles,
  created_on: key.createdOn,
  created_by: key.createdBy,
  ...(key.maker === undefined ? {} : { maker: key.maker }),
  expires_on: key.expiresOn,
});

export const fromKeyRecord = (record: KeyRecord): StoredKey => ({
  id: record._id,
  name: record.name,
  digest: record.digest,
  roles: record.roles,
  createdOn: record.created_on,
  createdBy: record.created_by,
  maker: record.maker,
  expiresOn: record.expires_on,
  lastUsedOn: record.last_used_on,
});
