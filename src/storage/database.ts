import { MongoClient, type Binary, type ClientSession, type Collection, type Document } from "mongodb";

import { ConfigurationError, getErrorMessage, UnavailableError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { withTimeout } from "../lib/timeout.ts";
import { retryConflicts, retryUntilAvailable } from "../lib/retry.ts";
import { clientOptions, withoutFixedOptions } from "./client-options.ts";
import { classify, translateErrors } from "./failures.ts";
import { ensureIndexes } from "./indexes.ts";
import { collections, type CollectionName } from "./names.ts";

/** The one door to MongoDB. */
export interface Database {
  /** Waits until MongoDB answers, then makes sure of the indexes. Throws DatabaseConflictError; ends early when aborted. */
  connect(abort: AbortSignal): Promise<void>;
  collection<T extends Document>(name: CollectionName): Collection<T>;
  /** Sends a command, as it is; whoever calls wraps it in `run`. */
  command(command: Document): Promise<Document>;
  /** Runs an operation. Throws UnavailableError when MongoDB does not answer or was not connected yet. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** A session to run transactions in, one at a time; undefined on a store without transactions. */
  startSession(): ClientSession | undefined;
  /**
   * Aborts the transactions that these sessions have open on the server, whoever started them. Best effort: not every product
   * or user may do it, and the server gives them up by itself. Never throws.
   */
  killSessions(ids: readonly Binary[]): Promise<void>;
  /** Runs operations in one transaction of the session. Nothing of them is stored when `work` throws. */
  transaction(session: ClientSession, work: () => Promise<void>): Promise<void>;
  /** Resolves when MongoDB answers; throws UnavailableError. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** On a sharded cluster killSessions waits up to a minute for each member that does not answer. */
const killTimeoutMs = 3_000;

/** Why the database cannot be used as it is set up; UnavailableError where that may change by itself. */
function startFailure(error: unknown): unknown {
  const kind = classify(error);
  if (kind === "credentials")
    return new ConfigurationError(
      `MongoDB does not accept the credentials of MONGODB_URI: ${getErrorMessage(error)}. Check the name, the password and authSource: ` +
        "the database in which the user was created, unless that is the one of the URI.",
      { cause: error },
    );
  if (kind === "forbidden")
    return new ConfigurationError(
      `The user of MONGODB_URI may not do what topicsync needs: ${getErrorMessage(error)}. docs/deployment.md lists the privileges.`,
      { cause: error },
    );
  return translateErrors(error);
}

/** Throws ConfigurationError for a URI that the driver does not take. */
function createClient(uri: string): MongoClient {
  try {
    return new MongoClient(uri, clientOptions);
  } catch (error) {
    throw new ConfigurationError(`MONGODB_URI cannot be used: ${getErrorMessage(error)}`, { cause: error });
  }
}

/** Creates the client; connects later. The URI names the database. Throws ConfigurationError. */
export function createDatabase(connectionString: string, log: Logger): Database {
  const { uri, ignored } = withoutFixedOptions(connectionString);
  if (ignored.length > 0)
    log.info({ options: ignored }, "options of MONGODB_URI are ignored: topicsync decides them itself");
  const client = createClient(uri);
  const db = client.db();
  let connected = false;
  let transactions = false;
  let canKillSessions = true;

  async function run<T>(operation: () => Promise<T>): Promise<T> {
    if (!connected) throw new UnavailableError("MongoDB is not connected yet");
    try {
      return await operation();
    } catch (error) {
      throw translateErrors(error);
    }
  }

  /**
   * Finds out by trying: what a server says of itself differs from product to product. Throws ConfigurationError for an
   * error that does not say whether there are transactions: without them the sync is less safe, so nothing is guessed.
   */
  async function hasTransactions(): Promise<boolean> {
    try {
      await client.withSession((session) =>
        session.withTransaction(() => db.collection(collections.positions).findOne({}, { session })),
      );
      return true;
    } catch (error) {
      const kind = classify(error);
      if (kind === "unsupported") {
        log.warn(
          { reason: getErrorMessage(error) },
          "this MongoDB has no transactions: positions are written right after the records instead of together with them; use a replica set",
        );
        return false;
      }
      if (kind !== "unforeseen") throw error;
      throw new ConfigurationError(
        `MongoDB failed to run a transaction, and did not say that it has none: ${getErrorMessage(error)}`,
        { cause: error },
      );
    }
  }

  async function runOnce(session: ClientSession, work: () => Promise<void>): Promise<void> {
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
      retryUntilAvailable(
        async () => {
          try {
            await client.connect();
            await ensureIndexes(db);
            transactions = await hasTransactions();
            connected = true;
          } catch (error) {
            throw startFailure(error);
          }
        },
        { what: "MongoDB", abort, log },
      ),

    startSession: () => (transactions ? client.startSession() : undefined),

    async killSessions(ids) {
      const kill = db.admin().command({ killSessions: ids.map((id) => ({ id })) });
      try {
        await withTimeout(killTimeoutMs, kill);
        canKillSessions = true;
      } catch (error) {
        if (canKillSessions)
          log.warn(
            { reason: getErrorMessage(error) },
            "killSessions failed: transactions that former owners of a partition left open last until MongoDB ends them, a minute by default",
          );
        canKillSessions = false;
      }
    },

    transaction: (session, work) => retryConflicts(() => run(() => runOnce(session, work))),

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
