import { after } from "node:test";

import { createLogger } from "../../src/lib/logger.ts";
import { createDatabase } from "../../src/storage/database.ts";
import { sharedStack, testDatabase } from "./stack.ts";

/** Connects to a new database until the tests of this file end; `db` is a separate connection to it. */
export async function connectDatabase() {
  const { uri, db } = testDatabase(sharedStack().mongodb);
  const log = await createLogger("silent");
  const database = createDatabase(uri, log);
  await database.connect(new AbortController().signal);
  after(() => database.close());
  return { uri, db, database, log };
}
