/**
 * The part of the driver's interface that the product uses, over a simulated network. Retries as the driver does: reads, writes
 * of single records and commits once, after a lost connection or a change of the primary.
 */
import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  WriteConcern,
  type MongoClient,
} from "mongodb";

import { clientOptions } from "../../../src/storage/client-options.ts";
import type { Clock, Host } from "../clock.ts";
import { ConnectionLostError, type Network } from "../network.ts";
import type { Random } from "../random.ts";
import { copy, formatValue, type Document, type Filter } from "./documents.ts";
import {
  noMatch,
  type Statement,
  type StatementResult,
  type StreamChange,
  type WriteResult,
} from "./commands.ts";
import type { MongoServer } from "./server.ts";
import { createNotPrimaryError } from "./errors.ts";
import type { Reign } from "./reign.ts";
import { createName, createSession, type Session } from "./session.ts";

export interface ClientOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly server: MongoServer;
  readonly host: Host;
}

const serverSelectionTimeoutMs = 5_000;
const serverSelectionPollMs = 100;
const maxMonitorDelayMs = 10_000;
const retryableCodes = new Set<unknown>([10107, 11602]);
/** After these the driver waits until its monitor has found the primary. */
const stateChangeCodes = retryableCodes;

interface TopologyEvent {
  readonly newDescription: { readonly servers: ReadonlyMap<string, object> };
}

interface StreamFilter {
  readonly $match: { readonly operationType: { readonly $in: readonly string[] } };
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

const writeConcern = WriteConcern.fromOptions(clientOptions);
const isMajority = (concern: { readonly w?: unknown } | undefined): boolean => concern?.w === "majority";

/** Creates the client of a host. */
export function createMongoClient({ clock, random, network, server, host }: ClientOptions): MongoClient {
  const { isReplicaSet } = server.options;

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.schedule(host, ms, () => {
        resolve();
      });
    });

  let onTopology: (event: TopologyEvent) => void = () => undefined;
  /** The primary that this client knows of; undefined until it has connected. */
  let known: Reign | undefined;
  /** Whether the known primary has answered that it is none any more. */
  let isUnknown = true;

  function showPrimary(primary: Reign): void {
    if (known !== undefined && primary.term < known.term) return;
    isUnknown = false;
    if (primary === known) return;
    known = primary;
    const description = isReplicaSet
      ? { type: "RSPrimary", electionId: { toHexString: () => String(primary.term) } }
      : { type: "Standalone" };
    onTopology({ newDescription: { servers: new Map([[`member ${primary.term}`, description]]) } });
  }

  // A monitor hears of an election soon, or with its next heartbeat.
  server.onElection((primary) => {
    const delayMs = random.between(0, random.pick([20, 20, 20, maxMonitorDelayMs]));
    clock.schedule(host, delayMs, () => {
      if (known !== undefined) showPrimary(primary);
    });
  });

  async function selectServer(): Promise<Reign> {
    const deadline = clock.getTime() + serverSelectionTimeoutMs;
    for (;;) {
      if (known !== undefined && !isUnknown) return known;
      if (server.isUp()) showPrimary(server.getPrimary());
      else if (clock.getTime() >= deadline)
        throw new MongoServerSelectionError("no primary is available", {} as never);
      else await wait(serverSelectionPollMs);
    }
  }

  async function sendOnce<T>(
    execute: (primary: Reign) => T | Promise<T>,
    isInTransaction: boolean,
  ): Promise<T> {
    const primary = await selectServer();
    try {
      return await network.call(server.host, () => execute(primary));
    } catch (error) {
      const isStateChange = error instanceof MongoServerError && stateChangeCodes.has(error.code);
      if (primary === known && (isStateChange || (error instanceof ConnectionLostError && !primary.isUp())))
        isUnknown = true;
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
    execute: (primary: Reign) => T | Promise<T>,
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
      commit: (transaction) =>
        send((primary) => primary.commit(transaction, isMajority(writeConcern)), { canRetry: true }),
      abort: (transaction) =>
        send(
          (primary) => {
            primary.abort(transaction);
          },
          { canRetry: true },
        ),
    });
  }

  /** A change stream: resumes on the present primary after a lost connection and after 10107 and the like, otherwise it ends. */
  function createStream(name: string, { $match }: StreamFilter) {
    let cursor: { readonly member: Reign; readonly after: number } | undefined;
    let isClosed = false;
    const buffered: StreamChange[] = [];

    async function open(after?: number): Promise<void> {
      cursor = await send(
        (primary) => {
          const last = primary.openStream();
          return { member: primary, after: after ?? last };
        },
        { canRetry: true },
      );
    }

    async function fetchMore(): Promise<void> {
      if (cursor === undefined) await open();
      if (cursor === undefined) return;
      const { member, after } = cursor;
      try {
        const batch = await network.call(server.host, () => member.readStream(name, after));
        cursor = { member, after: batch.after };
        buffered.push(
          ...batch.changes.filter(({ operationType }) => $match.operationType.$in.includes(operationType)),
        );
      } catch (error) {
        if (isClosed || !(error instanceof ConnectionLostError)) throw error;
        if (member === known && !member.isUp()) isUnknown = true;
        await open(after);
      }
    }

    return {
      async tryNext() {
        if (cursor === undefined) await open();
        return null;
      },
      async next() {
        for (;;) {
          if (isClosed) throw new Error("the change stream is closed");
          const change = buffered.shift();
          if (change !== undefined) return change;
          await fetchMore();
        }
      },
      close() {
        isClosed = true;
        return Promise.resolve();
      },
    };
  }

  function createCollection(name: string) {
    async function find(
      given: Filter,
      { session, projection, limit }: FindOptions = {},
    ): Promise<readonly Document[]> {
      const transaction = session?.use();
      const filter = copy(given);
      const found = await send(
        (primary) => primary.find({ client: host, collection: name, filter, projection, transaction }),
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
        (primary) =>
          primary.write({
            client: host,
            collection: name,
            statements,
            ordered,
            retryId,
            maxTimeMs: maxTimeMS,
            awaitsMajority: isMajority(writeConcern),
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
      writeConcern,
      findOne: async (filter: Filter, options: FindOptions = {}) => (await find(filter, options))[0] ?? null,
      find(filter: Filter, options: FindOptions = {}) {
        return {
          toArray: () => find(filter, options),
          project: (projection: Document) => this.find(filter, { ...options, projection }),
          async *[Symbol.asyncIterator]() {
            yield* await find(filter, options);
          },
          ...createBatches(() => find(filter)),
        };
      },
      watch: (pipeline: readonly [StreamFilter]) => createStream(name, pipeline[0]),
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
          (primary) => {
            primary.createIndex(name, indexName, Object.keys(key), unique);
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
    readonly writeConcern?: object;
  }

  const db = {
    collection: createCollection,
    createCollection: () => Promise.resolve(),
    async command(command: UpdateCommand | { readonly ping: 1 }) {
      if ("ping" in command)
        return send(
          (primary) => {
            if (!primary.isUp()) throw createNotPrimaryError();
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
        (primary) =>
          primary.write({
            client: host,
            collection: command.update,
            statements,
            ordered: false,
            maxTimeMs: command.maxTimeMS,
            // The driver adds none to a command.
            awaitsMajority: isMajority(command.writeConcern),
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
          (primary) => {
            primary.killSessions(killSessions.map(({ id }) => formatValue(id)));
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
  };
  return client as unknown as MongoClient;
}

const recordsPerBatch = 2;

/** The part of a cursor that `streamBatches` uses. Each batch is a read of its own, so a scan does not see a snapshot. */
function createBatches(find: () => Promise<readonly Document[]>) {
  const seen = new Set<string>();
  let buffered: readonly Document[] = [];
  return {
    async hasNext() {
      if (buffered.length > 0) return true;
      const all = await find();
      buffered = all.filter(({ _id }) => !seen.has(String(_id))).slice(0, recordsPerBatch);
      for (const { _id } of buffered) seen.add(String(_id));
      return buffered.length > 0;
    },
    readBufferedDocuments() {
      const documents = buffered;
      buffered = [];
      return documents;
    },
    close: () => Promise.resolve(),
  };
}

const noResult = { getWriteConcernError: () => undefined };
