import { after } from "node:test";

import { createLogger } from "@topicsync/lib/logger";
import { replacePlatform, type Platform } from "@topicsync/lib/platform";
import { createDatabase, type Database } from "../../src/storage/database/database.ts";
import { getPort } from "./local.ts";
import { startMongoProxy, type MongoProxyOptions } from "./mongo-faults.ts";
import { sharedStack, testDatabase } from "./stack.ts";

const log = await createLogger("silent");

/**
 * Repeats transactions after conflicts for as long as it takes, until the tests of this file end. The program
 * gives up after five seconds, in which concurrent writers do not come to an end on a busy machine.
 */
export function repeatWithoutLimit(): void {
  const former: Platform = replacePlatform({
    now: () => former.now(),
    elapsed: () => 0,
    schedule: (delayMs, action) => former.schedule(delayMs, action),
    scheduleSoon: (action) => former.scheduleSoon(action),
    random: () => former.random(),
    fillRandom: (bytes) => {
      former.fillRandom(bytes);
    },
  });
  after(() => void replacePlatform(former));
}

/** Connects to a database until the tests of this file end. */
async function connectUntilEnd(uri: string): Promise<Database> {
  const database = createDatabase(uri, log);
  await database.connect(new AbortController().signal);
  after(() => database.close());
  return database;
}

/**
 * Connects to a new database until the tests of this file end; `db` is a separate connection to it.
 * `connect` opens another, as a second process would.
 */
export async function connectDatabase() {
  const { uri, db } = testDatabase();
  const connect = (at = uri): Promise<Database> => connectUntilEnd(at);
  return { uri, db, database: await connect(), connect, log };
}

/** Connects to a new database through a proxy that can fail commands; `db` is a direct connection to it. */
export async function connectProxiedDatabase(options: MongoProxyOptions = {}) {
  const { db } = testDatabase();
  const proxy = await startMongoProxy(getPort(sharedStack().mongodb), options);
  return { db, database: await connectUntilEnd(proxy.uri(db.databaseName)), proxy, log };
}
