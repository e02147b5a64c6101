import {
  WriteConcern,
  type Binary,
  type ClientSession,
  type Collection,
  type Db,
  type Document,
  type MongoClient,
} from "mongodb";

import { ConfigurationError, getErrorMessage, UnavailableError } from "@topicsync/lib/errors";
import type { Logger } from "@topicsync/lib/logger";
import { elapsed } from "@topicsync/lib/platform";
import { retryUntilAvailable } from "@topicsync/lib/concurrency/retry";
import { clientOptions, removeFixedOptions, updateLimit } from "./client-options.ts";
import type { Connection } from "./connection.ts";
import { canRotate, Clients, createClient } from "./clients.ts";
import { ensureDatabaseId } from "./database-id.ts";
import { classify, repeatOnce, translateErrors } from "./failures.ts";
import { ensureIndexes } from "../indexes.ts";
import { createListQueue, type ListQueue } from "./list-queue.ts";
import type { CollectionName } from "../names.ts";
import { checkRetryableWrites } from "./retryable-writes.ts";
import { checkSchemaVersion, raiseSchemaVersion } from "../schema-version.ts";
import { createKillSessions, hasTransactions, repeatAfterConflicts, runOnce } from "./transactions.ts";

/** The connection to MongoDB, and the only access to it. */
export interface Database {
  /**
   * Waits for MongoDB and creates missing indexes. Throws DatabaseConflictError if data, indexes or the
   * schema version conflict, UnavailableError if aborted.
   */
  connect(abort: AbortSignal): Promise<void>;
  /** The UUID of the database; empty before `connect`. It changes if the database is dropped. */
  getId(): string;
  collection<T extends Document>(name: CollectionName): Collection<T>;
  /**
   * Creates the indexes of a collection that lacks some: MongoDB creates one that was dropped under a running
   * service again without them. Looks at most once a second. To be called within `run` before what they must
   * keep unique is written, and before its transaction has written anything, which would block the creation.
   */
  ensureIndexes(name: CollectionName): Promise<void>;
  /** Sends a raw command. To be called within `run`. */
  command(command: Document, options?: { readonly session?: ClientSession }): Promise<Document>;
  /** Runs an operation and translates its errors. Throws UnavailableError, also before `connect`. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /**
   * The same for what people list. At most 20 of these run at a time, so that connections are left for
   * everything else. Never within another `list`.
   */
  list<T>(operation: () => Promise<T>): Promise<T>;
  /**
   * Names the primary of a replica set and its election; undefined when it is not known. Commands go to
   * another primary only after the name has changed. On a sharded cluster the elections of shards are not
   * visible.
   */
  getPrimary(): string | undefined;
  /**
   * Calls a listener when the name of the primary changes, or the primary reports that it is a secondary: its
   * cursors stay open then, and fall behind. Returns a function that removes the listener.
   */
  onElection(listener: () => void): () => void;
  /**
   * Whether the elections of the members that hold the data are visible: not behind mongos or a load
   * balancer.
   */
  seesElections(): boolean;
  getPoolUse(): ReturnType<Connection["getPoolUse"]>;
  /**
   * Waits until a majority has everything that was read of these collections from this primary. Returns false
   * when an election may have lost some of it. To be called within `run`.
   */
  confirmReads(primary: string | undefined, names: readonly CollectionName[]): Promise<boolean>;
  /** Starts a session for transactions, one at a time. Returns undefined on a store without transactions. */
  startSession(): ClientSession | undefined;
  /** False once the client of a session was replaced: no transaction may begin in it. */
  isCurrent(session: ClientSession): boolean;
  /**
   * Aborts the open transactions of these sessions, which may belong to other processes. Best effort: not
   * every product or user is allowed to; the server aborts them later in any case. Never throws.
   */
  killSessions(ids: readonly Binary[]): Promise<void>;
  /** Runs operations in one transaction, repeated after conflicts. Nothing is stored when `work` throws. */
  runTransaction(session: ClientSession, work: () => Promise<void>): Promise<void>;
  /** Throws UnavailableError when MongoDB does not respond. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Returns the functions of a store, each of which runs within `Database.run`. */
export function runEach<T extends object>(database: Pick<Database, "run">, functions: T): T {
  const all = Object.entries(functions as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>);
  return Object.fromEntries(
    all.map(([name, call]) => [name, (...args: unknown[]) => database.run(() => call(...args))]),
  ) as T;
}

/** Translates an error at start: ConfigurationError for a setting, UnavailableError if waiting may help. */
function toStartError(error: unknown): unknown {
  const kind = classify(error);
  if (kind === "credentials")
    return new ConfigurationError(
      `MongoDB does not accept the credentials of MONGODB_URI: ${getErrorMessage(error)}. Check the name, the password and authSource, ` +
        "the database in which the user was created; it defaults to the database of the URI.",
      { cause: error },
    );
  if (kind === "forbidden")
    return new ConfigurationError(
      `The user of MONGODB_URI may not do what topicsync needs: ${getErrorMessage(error)}. Grant the privileges in docs/deployment.md.`,
      { cause: error },
    );
  return translateErrors(error);
}

/**
 * Creates the client of the database in the URI; `connect` connects it. It is replaced when `file`, or a file
 * that the URI names, changes. Throws ConfigurationError.
 */
export function createDatabase(uri: string, log: Logger, file?: string): Database {
  const { ignored } = removeFixedOptions(uri);
  if (ignored.length > 0)
    log.info({ options: ignored }, "options of MONGODB_URI ignored: topicsync sets them itself");
  const clients = new Clients(createClient(uri), log);
  const source = { uri, file };
  if (canRotate(source)) clients.follow(source);
  return connectClients(clients, log);
}

/** Looking before each write would cost registrations and topics a tenth of their speed. */
const indexesLastMs = 1_000;
/** Where nothing is missing, there is nothing to wait for. */
const unreplicated = new WriteConcern(1);

/** Creates the access to the database that a client connects to by default. */
export const toDatabase = (client: MongoClient, log: Logger): Database =>
  connectClients(new Clients(client, log), log);

function connectClients(clients: Clients, log: Logger): Database {
  let connected = false;
  let transactions = false;
  let id = "";
  let lists: ListQueue | undefined;
  /** When indexes were last looked at. */
  const lookedAt = new Map<CollectionName, number>();
  const killSessions = createKillSessions(() => clients.current.db, log);

  async function run<T>(operation: () => Promise<T>): Promise<T> {
    if (!connected) throw new UnavailableError("MongoDB is not connected yet");
    try {
      clients.current.requireWritable();
      return await operation();
    } catch (error) {
      throw translateErrors(error);
    }
  }

  async function prepare(db: Db): Promise<void> {
    const version = await checkSchemaVersion(db);
    await ensureIndexes(db);
    await raiseSchemaVersion(db, version);
    id = await ensureDatabaseId(db);
  }

  return {
    run,
    list(operation) {
      lists ??= createListQueue(clients.current.client.options.maxPoolSize);
      return lists(() => run(operation));
    },
    getId: () => id,
    collection: (name) => clients.collection(name),
    async ensureIndexes(name) {
      if (elapsed() - (lookedAt.get(name) ?? -Infinity) < indexesLastMs) return;
      const { db } = clients.current;
      const startedAt = elapsed();
      const wasMissing = await ensureIndexes(db, [name], unreplicated);
      lookedAt.set(name, startedAt);
      if (!wasMissing) return;
      log.error({ collection: name }, "indexes were missing and were created again");
      // Others may have been lost with them, and the database may have been replaced.
      await prepare(db);
    },
    command: (command, options) =>
      clients.current.db.command(command, { ...options, ignoreUndefined: clientOptions.ignoreUndefined }),

    connect: (abort) =>
      retryUntilAvailable(
        async () => {
          const { client, db, requireWritable } = clients.current;
          try {
            await client.connect();
            requireWritable();
            await prepare(db);
            transactions = await hasTransactions(client, log);
            // The driver numbers no writes on stores that have no transactions.
            if (transactions) await checkRetryableWrites(client);
            connected = true;
          } catch (error) {
            throw toStartError(error);
          }
        },
        { what: "MongoDB", abort, log },
      ),

    getPrimary: () => clients.current.getPrimary(),
    onElection: (listener) => clients.onElection(listener),
    seesElections: () => clients.current.seesElections(),
    getPoolUse: () => clients.current.getPoolUse(),

    async confirmReads(primary, names) {
      const { db, getPrimary } = clients.current;
      await waitForMajority(db, names);
      return primary === getPrimary();
    },

    startSession: () => (transactions ? clients.startSession() : undefined),
    isCurrent: (session) => clients.isCurrent(session),
    killSessions,

    runTransaction: (session, work) =>
      repeatAfterConflicts(() => run(() => runOnce(session, work, killSessions))),

    ping: () =>
      run(async () => {
        await clients.current.db.command({ ping: 1 });
      }),

    async close() {
      connected = false;
      await clients.close();
    },
  };
}

/**
 * MongoDB waits for the write concern of everything before, even though this changes nothing. The condition
 * could be met and has no shard key, so that mongos sends it to every shard that has the collection.
 */
const waitForMajority = (db: Db, names: readonly CollectionName[]): Promise<unknown> =>
  Promise.all(
    names.map((name) =>
      repeatOnce(() =>
        db.collection<{ _id: string }>(name).updateMany({ _id: "" }, { $unset: { unused: "" } }, updateLimit),
      ),
    ),
  );
