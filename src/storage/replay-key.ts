import { randomBytes } from "node:crypto";

import type { Binary } from "mongodb";

import type { Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";

interface SecretRecord {
  _id: string;
  value: Binary | Buffer;
}

const id = "replays";
const keyBytes = 32;

/**
 * Returns a function that reads the key of the proofs of replays, and creates it if there is none. Throws
 * UnavailableError.
 */
export function createReplayKey(database: Database): () => Promise<Buffer> {
  const secrets = database.collection<SecretRecord>(collections.secrets);
  const find = (): Promise<Buffer | undefined> => findKey(database);

  async function create(): Promise<Buffer> {
    const value = randomBytes(keyBytes);
    try {
      await secrets.insertOne({ _id: id, value });
      return value;
    } catch (error) {
      const other = isDuplicate(error) ? await find() : undefined;
      if (other === undefined) throw error;
      return other;
    }
  }

  return () => database.run(async () => (await find()) ?? create());
}

/** Returns a function that reads the key; undefined if there is none. Throws UnavailableError. */
export const createReplayKeyReader =
  (database: Database): (() => Promise<Buffer | undefined>) =>
  () =>
    database.run(() => findKey(database));

async function findKey(database: Database): Promise<Buffer | undefined> {
  const secrets = database.collection<SecretRecord>(collections.secrets);
  const found = await secrets.findOne({ _id: id }, { promoteBuffers: true });
  return found === null ? undefined : Buffer.from(found.value as Buffer);
}
