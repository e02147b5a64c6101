import type { Db } from "mongodb";

import { DatabaseConflictError } from "@topicsync/lib/errors";
import { currentDate } from "@topicsync/lib/platform";
import { version as program } from "../config/version.ts";
import { isDuplicate } from "./database/failures.ts";
import { collections } from "./names.ts";

/**
 * The version of what this program stores. It is raised when an older program would misread or damage that,
 * and not for a new field or collection that older programs ignore.
 */
export const schemaVersion = 1;

interface SchemaRecord {
  _id: string;
  version: number;
  /** The version of the program that raised it. */
  raised_by: string;
  raised_on: Date;
}

const _id = "schema";

const open = (db: Db) => db.collection<SchemaRecord>(collections.schema);

/** Reads the version of a database, if it has one. Throws a DatabaseConflictError if it is a newer one. */
export async function checkSchemaVersion(db: Db): Promise<number | undefined> {
  const found = await open(db).findOne({ _id });
  if (found === null) return undefined;
  const { version, raised_by: by } = found;
  if (Number.isSafeInteger(version) && version <= schemaVersion) return version;
  throw new DatabaseConflictError(
    `The database has schema version ${version}, which topicsync ${by} wrote; this is topicsync ${program}, ` +
      `which knows versions up to ${schemaVersion}. Start topicsync ${by} or later, or restore a backup from ` +
      "before the upgrade, see docs/backup-and-restore.md.",
  );
}

/** Raises the version of a database, which `known` is, to that of this program. */
export async function raiseSchemaVersion(db: Db, known: number | undefined): Promise<void> {
  if (known === schemaVersion) return;
  const record = { version: schemaVersion, raised_by: program, raised_on: currentDate() };
  try {
    if (known === undefined) await open(db).insertOne({ _id, ...record });
    else await open(db).updateOne({ _id, version: known }, { $set: record });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
  // Another process may have raised it in between, perhaps a newer one.
  await checkSchemaVersion(db);
}
