import { MongoClient, type Binary, type ClientSession, type Collection, type Document } from "mongodb";

import { messageOf, Unavailable } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { untilAvailable } from "../retry.ts";
import { classify, translated } from "./failures.ts";
import { ensureIndexes } from "./indexes.ts";
import { collections, type CollectionName } from "./names.ts";

/** The one door to MongoDB. */
export interface Database {
  /** Waits until MongoDB answers, then makes sure of the indexes. Throws DatabaseConflict; ends early when aborted. */
  connect(abort: AbortSignal): Promise<void>;
  collection<T extends Document>(name: CollectionName): Collection<T>;
  /** Sends a command, as it is; whoever calls wraps it in `run`. */
  command(command: Document): Promise<Document>;
  /** Runs an operation. Throws Unavailable when MongoDB does not answer or was not connected yet. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** A session to run transactions in, one at a time; undefined on a store without transactions. */
  startSession(): ClientSession | undefined;
  /** Ends whatever sessions have open on the server, whoever started them. */
  killSessions(ids: readonly Binary[]): Promise<void>;
  /** Runs operations in one transaction of the session. Nothing of them is stored when `work` throws. */
  transaction(session: ClientSession, work: () => Promise<void>): Promise<void>;
  /** Resolves when MongoDB answers; throws Unavailable. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const mostTransactionAttempts = 5;

/** Makes the door; nothing is connected yet. The URI names the database. */
export function createDatabase(uri: string, log: Logger): Database {
  const client = new MongoClient(uri, {
    appName: "topicsync",
    // An acknowledged record survives the loss of a member and a crash.
    writeConcern: { w: "majority", journal: true, wtimeoutMS: 10_000 },
    serverSelectionTimeoutMS: 5_000,
    connectTimeoutMS: 5_000,
    socketTimeoutMS: 15_000,
    waitQueueTimeoutMS: 5_000,
    ignoreUndefined: true,
  });
  const db = client.db();
  let connected = false;
  let transactions = false;

  async function run<T>(operation: () => Promise<T>): Promise<T> {
    if (!connected) throw new Unavailable("MongoDB is not connected yet");
    try {
      return await operation();
    } catch (error) {
      throw translated(error);
    }
  }

  /** Asks by trying: what a server says of itself differs from product to product. */
  async function hasTransactions(): Promise<boolean> {
    try {
      await client.withSession((session) =>
        session.withTransaction(() => db.collection(collections.positions).findOne({}, { session })),
      );
      return true;
    } catch (error) {
      if (translated(error) instanceof Unavailable) throw error;
      log.warn(
        { reason: messageOf(error) },
        "this MongoDB has no transactions: positions are written right after the records instead of together with them; use a replica set",
      );
      return false;
    }
  }

  async function once(session: ClientSession, work: () => Promise<void>): Promise<void> {
    session.startTransaction();
    try {
      await work();
      await session.commitTransaction();
    } catch (error) {
      if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
      throw error;
    }
  }

  return {
    run,
    collection: (name) => db.collection(name),
    command: (command) => db.command(command),

    connect: (abort) =>
      untilAvailable(
        async () => {
          try {
            await client.connect();
            await ensureIndexes(db);
            transactions = await hasTransactions();
            connected = true;
          } catch (error) {
            throw translated(error);
          }
        },
        { what: "MongoDB", abort, log },
      ),

    startSession: () => (transactions ? client.startSession() : undefined),

    killSessions: (ids) =>
      run(async () => {
        await db.admin().command({ killSessions: ids.map((id) => ({ id })) });
      }),

    transaction: (session, work) =>
      run(async () => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            await once(session, work);
            return;
          } catch (error) {
            if (attempt === mostTransactionAttempts || classify(error) !== "conflict") throw error;
          }
        }
      }),

    ping: () =>
      run(async () => {
        await db.command({ ping: 1 });
      }),

    async close() {
      connected = false;
      await client.close();
    },
  };
}
