import { randomUUID } from "node:crypto";

import type { Db } from "mongodb";

import { isDuplicate } from "./failures.ts";
import { collections } from "../names.ts";

const _id = "database";

const open = (db: Db) => db.collection<{ _id: string; uuid: string }>(collections.meta);

/** Returns the UUID of a database, which is created if it has none: a plan for one is not for another. */
export async function ensureDatabaseId(db: Db): Promise<string> {
  const found = await open(db).findOne({ _id });
  if (found !== null) return found.uuid;
  try {
    await open(db).insertOne({ _id, uuid: randomUUID() });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  return ensureDatabaseId(db);
}
