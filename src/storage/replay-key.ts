import { randomBytes } from "node:crypto";

import type { Binary } from "mongodb";

import { runEach, type Database } from "./database/database.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";

interface SecretRecord {
  _id: string;
  value: Binary | Buffer;
}

const id = "replays";
const keyBytes = 32;

/** The key of the proofs of replays. Every function throws UnavailableError. */
export function createReplayKey(database: Database) {
  const secrets = database.collection<SecretRecord>(collections.secrets);

  async function find(): Promise<Buffer | undefined> {
    const found = await secrets.findOne({ _id: id }, { promoteBuffers: true });
    return found === null ? undefined : Buffer.from(found.value as Buffer);
  }

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

  return runEach(database, {
    /** Reads the key, and creates it if there is none. */
    getReplayKey: async () => (await find()) ?? create(),
    findReplayKey: find,
  });
}
