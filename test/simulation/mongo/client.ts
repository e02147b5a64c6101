/**
 * The part of the driver's interface that the product uses, over a simulated network. Retries as the driver does: reads, writes
 * of single records and commits once, after a lost connection or a change of the primary.
 */
import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  type MongoClient,
} from "mongodb";

import type { Clock, Host } from "../clock.ts";
import { ConnectionLostError, type Network } from "../network.ts";
import { copy, formatValue, type Document, type Filter } from "./documents.ts";
import {
  noMatch,
  type MongoServer,
  type Statement,
  type StatementResult,
  type WriteResult,
} from "./commands.ts";
import { createNotPrimaryError } from "./errors.ts";
import { createName, createSession, type Session } from "./session.ts";

export interface ClientOptions {
  readonly clock: Clock;
  readonly network: Network;
  readonly server: MongoServer;
  readonly host: Host;
}

const serverSelectionTimeoutMs = 5_000;
const serverSelectionPollMs = 100;
const retryableCodes = new Set<unknown>([10107, 11602]);

interface TopologyEvent {
  readonly newDescription: { readonly servers: ReadonlyMap<string, object> };
}

interface SessionOptions {
  readonly session?: Session;
}

interface WriteOptions extends SessionOptions {
  readonly ordered?: boolean;
  readonly upsert?: boolean;
  readonly maxTimeMS?: number;
}

interface FindOptions extends SessionOptions {
  readonly projection?: Document;
  readonly limit?: number;
  /** Of no consequence. */
  readonly batchSize?: number;
}

interface BulkOperation {
  readonly replaceOne: { readonly filter: Filter; readonly replacement: Document; readonly upsert?: boolean };
}

/** Creates the client of a host. */
export function createMongoClient({ clock, network, server, host }: ClientOptions): MongoClient {
  const { isReplicaSet } = server.options;

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(host, ms, () => {
        resolve();
      });
    });

  let onTopology: (event: TopologyEvent) => void = () => undefined;
  let shownTerm = -1;

  function showPrimary(term: number): void {
    if (term === shownTerm) return;
    shownTerm = term;
    const primary = isReplicaSet
      ? { type: "RSPrimary", electionId: { toHexString: () => String(term) } }
      : { type: "Standalone" };
    onTopology({ newDescription: { servers: new Map([["store", primary]]) } });
  }

  async function selectServer(): Promise<void> {
    const deadline = clock.getTime() + serverSelectionTimeoutMs;
    while (!server.isUp()) {
      if (clock.getTime() >= deadline)
        throw new MongoServerSelectionError("no primary is available", {} as never);
      await wait(serverSelectionPollMs);
    }
  }

  async function sendOnce<T>(execute: () => T | Promise<T>, isInTransaction: boolean): Promise<T> {
    await selectServer();
    const term = server.getTerm();
    showPrimary(term);
    try {
      return await network.call(server.host, () => {
        // It arrives at the primary that it was sent to.
        if (server.getTerm() !== term) throw createNotPrimaryError();
        return execute();
      });
    } catch (error) {
      if (!(error instanceof ConnectionLostError)) throw error;
      const lost = new MongoNetworkError(error.message);
      if (isInTransaction) lost.addErrorLabel("TransientTransactionError");
      throw lost;
    }
  }

  const isRetryable = (error: unknown): boolean =>
    error instanceof MongoNetworkError ||
    (error instanceof MongoServerError && retryableCodes.has(error.code));

  async function send<T>(
    execute: () => T | Promise<T>,
    { canRetry, isInTransaction = false }: { canRetry: boolean; isInTransaction?: boolean },
  ): Promise<T> {
    try {
      return await sendOnce(execute, isInTransaction);
    } catch (error) {
      if (!canRetry || !isRetryable(error)) throw error;
      return sendOnce(execute, isInTransaction);
    }
  }

  function createSessionOfClient(): Session {
    return createSession({
      commit: (transaction) => send(() => server.commit(transaction), { canRetry: true }),
      abort: (transaction) =>
        send(
          () => {
            server.abort(transaction);
          },
          { canRetry: true },
        ),
    });
  }

  function createCollection(name: string) {
    async function find(
      given: Filter,
      { session, projection, limit }: FindOptions = {},
    ): Promise<readonly Document[]> {
      const transaction = session?.use();
      const filter = copy(given);
      const found = await send(
        () => server.find({ client: host, collection: name, filter, projection, transaction }),
        { canRetry: transaction === undefined, isInTransaction: transaction !== undefined },
      );
      return limit === undefined ? found : found.slice(0, limit);
    }

    async function write(
      given: readonly Statement[],
      { session, ordered = true, maxTimeMS }: WriteOptions = {},
    ): Promise<WriteResult> {
      const transaction = session?.use();
      const statements = copy(given);
      const isRetried =
        isReplicaSet && transaction === undefined && !statements.some((one) => "multi" in one && one.multi);
      const retryId = isRetried ? createName() : undefined;
      return send(
        () =>
          server.write({
            client: host,
            collection: name,
            statements,
            ordered,
            retryId,
            maxTimeMs: maxTimeMS,
            transaction,
          }),
        { canRetry: isRetried, isInTransaction: transaction !== undefined },
      );
    }

    async function writeOne(statement: Statement, options: WriteOptions = {}): Promise<StatementResult> {
      const { results, errors } = await write([statement], options);
      if (errors[0] !== undefined) throw errors[0].error;
      return results[0] ?? noMatch;
    }

    async function writeMany(
      statements: readonly Statement[],
      options: WriteOptions = {},
    ): Promise<WriteResult> {
      const result = await write(statements, options).catch((error: unknown) => {
        throw error instanceof Error ? new MongoBulkWriteError(error, noResult as never) : error;
      });
      if (result.errors.length === 0) return result;
      const writeErrors = result.errors.map(({ index, error }) => ({
        index,
        code: error.code,
        errmsg: error.message,
      }));
      throw new MongoBulkWriteError(
        { message: "write failed", code: 11000, writeErrors: writeErrors as never },
        noResult as never,
      );
    }

    return {
      collectionName: name,
      writeConcern: undefined,
      findOne: async (filter: Filter, options: FindOptions = {}) => (await find(filter, options))[0] ?? null,
      find(filter: Filter, options: FindOptions = {}) {
        return {
          toArray: () => find(filter, options),
          project: (projection: Document) => this.find(filter, { ...options, projection }),
          async *[Symbol.asyncIterator]() {
            yield* await find(filter, options);
          },
        };
      },
      async insertOne(document: Document, options: WriteOptions = {}) {
        await writeOne({ kind: "insert", document }, options);
      },
      async insertMany(documents: readonly Document[], options: WriteOptions = {}) {
        await writeMany(
          documents.map((document) => ({ kind: "insert", document })),
          options,
        );
      },
      async updateOne(filter: Filter, update: Document, options: WriteOptions = {}) {
        const { matched, modified } = await writeOne(
          { kind: "update", filter, update, upsert: options.upsert ?? false },
          options,
        );
        return { matchedCount: matched, modifiedCount: modified };
      },
      async updateMany(filter: Filter, update: Document) {
        const { matched, modified } = await writeOne({ kind: "update", filter, update, multi: true });
        return { matchedCount: matched, modifiedCount: modified };
      },
      async replaceOne(filter: Filter, update: Document, options: WriteOptions = {}) {
        await writeOne({ kind: "update", filter, update, upsert: options.upsert ?? false }, options);
      },
      async findOneAndUpdate(filter: Filter, update: Document, options: WriteOptions = {}) {
        const { document } = await writeOne(
          { kind: "update", filter, update, upsert: options.upsert ?? false },
          options,
        );
        return copy(document ?? null);
      },
      async deleteOne(filter: Filter, options: WriteOptions = {}) {
        return { deletedCount: (await writeOne({ kind: "delete", filter }, options)).deleted };
      },
      async deleteMany(filter: Filter, options: WriteOptions = {}) {
        return { deletedCount: (await writeOne({ kind: "delete", filter, multi: true }, options)).deleted };
      },
      async bulkWrite(operations: readonly BulkOperation[], options: WriteOptions = {}) {
        const { results } = await writeMany(
          operations.map(({ replaceOne: { filter, replacement, upsert = false } }) => ({
            kind: "update",
            filter,
            update: replacement,
            upsert,
          })),
          options,
        );
        return { matchedCount: results.reduce((sum, { matched }) => sum + matched, 0) };
      },
      createIndex(key: Document, { name: indexName, unique = false }: { name: string; unique?: boolean }) {
        return send(
          () => {
            server.createIndex(name, indexName, Object.keys(key), unique);
          },
          { canRetry: true },
        );
      },
    };
  }

  interface UpdateCommand {
    readonly update: string;
    readonly updates: readonly { q: Filter; u: Document; upsert?: boolean; multi?: boolean }[];
    readonly maxTimeMS?: number;
  }

  const db = {
    collection: createCollection,
    createCollection: () => Promise.resolve(),
    async command(command: UpdateCommand | { readonly ping: 1 }) {
      if ("ping" in command)
        return send(
          () => {
            if (!server.isUp()) throw createNotPrimaryError();
          },
          { canRetry: false },
        );
      const statements = copy(command.updates).map(({ q, u, upsert = false, multi = false }): Statement => ({
        kind: "update",
        filter: q,
        update: u,
        upsert,
        multi,
      }));
      const { errors } = await send(
        () =>
          server.write({
            client: host,
            collection: command.update,
            statements,
            ordered: false,
            maxTimeMs: command.maxTimeMS,
          }),
        { canRetry: false },
      );
      return {
        writeErrors: errors.map(({ index, error }) => ({ index, code: error.code, errmsg: error.message })),
      };
    },
    admin: () => ({
      command: ({ killSessions }: { readonly killSessions: readonly { readonly id: unknown }[] }) =>
        send(
          () => {
            server.killSessions(killSessions.map(({ id }) => formatValue(id)));
          },
          { canRetry: false },
        ),
    }),
  };

  const client = {
    on(_event: "topologyDescriptionChanged", listener: (event: TopologyEvent) => void) {
      onTopology = listener;
    },
    db: () => db,
    connect: () => sendOnce(() => undefined, false),
    close: () => Promise.resolve(),
    startSession: createSessionOfClient,
    withSession: (use: (session: Session) => Promise<void>) => use(createSessionOfClient()),
  };
  return client as unknown as MongoClient;
}

const noResult = { getWriteConcernError: () => undefined };
