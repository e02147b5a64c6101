/** A collection as the driver offers it, as far as the product uses it. */
import { BSON, MongoBulkWriteError, type WriteConcern } from "mongodb";

import type { Host } from "../clock.ts";
import { ChangeStream, type StreamFilter } from "./change-stream.ts";
import { noMatch, type Statement, type StatementResult, type WriteResult } from "./commands.ts";
import type { MongoConnection } from "./connection.ts";
import { copy, type Document, type Filter } from "./documents.ts";
import { createName, type Session } from "./session.ts";

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
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly limit?: number;
  /** Ignored. */
  readonly batchSize?: number;
  /** Of the batches of a cursor. */
  readonly raw?: boolean;
}

type BulkOperation =
  | {
      readonly replaceOne: {
        readonly filter: Filter;
        readonly replacement: Document;
        readonly upsert?: boolean;
      };
    }
  | { readonly deleteOne: { readonly filter: Filter } };

export interface CollectionOptions {
  readonly name: string;
  readonly host: Host;
  readonly connection: MongoConnection;
  readonly isReplicaSet: boolean;
  readonly writeConcern: WriteConcern | undefined;
}

export const isMajority = (concern: { readonly w?: unknown } | undefined): boolean =>
  concern?.w === "majority";

const recordsPerBatch = 2;
const noResult = { getWriteConcernError: () => undefined };

export class SimulatedCollection {
  readonly #options: CollectionOptions;
  readonly collectionName: string;
  readonly writeConcern: WriteConcern | undefined;

  constructor(options: CollectionOptions) {
    this.#options = options;
    this.collectionName = options.name;
    this.writeConcern = options.writeConcern;
  }

  async findOne(filter: Filter, options: FindOptions = {}): Promise<Document | null> {
    return (await this.#find(filter, options))[0] ?? null;
  }

  find(filter: Filter, options: FindOptions = {}) {
    const findAll = (): Promise<readonly Document[]> => this.#find(filter, options);
    return {
      toArray: findAll,
      project: (projection: Document) => this.find(filter, { ...options, projection }),
      async *[Symbol.asyncIterator]() {
        yield* await findAll();
      },
      ...createBatches(() => this.#find(filter, {}), options.raw),
    };
  }

  watch([filter]: readonly [StreamFilter]): ChangeStream {
    return new ChangeStream(this.#options.connection, this.#options.name, filter);
  }

  async insertOne(document: Document, options: WriteOptions = {}): Promise<void> {
    await this.#writeOne({ kind: "insert", document }, options);
  }

  async insertMany(documents: readonly Document[], options: WriteOptions = {}): Promise<void> {
    await this.#writeMany(
      documents.map((document) => ({ kind: "insert", document })),
      options,
    );
  }

  async updateOne(filter: Filter, update: Document, options: WriteOptions = {}) {
    const { matched, modified } = await this.#writeOne(toUpdate(filter, update, options), options);
    return { matchedCount: matched, modifiedCount: modified };
  }

  async updateMany(filter: Filter, update: Document) {
    const { matched, modified } = await this.#writeOne({ kind: "update", filter, update, multi: true });
    return { matchedCount: matched, modifiedCount: modified };
  }

  async replaceOne(filter: Filter, update: Document, options: WriteOptions = {}): Promise<void> {
    await this.#writeOne(toUpdate(filter, update, options), options);
  }

  async findOneAndUpdate(filter: Filter, update: Document, options: WriteOptions = {}) {
    const { document } = await this.#writeOne(toUpdate(filter, update, options), options);
    return copy(document ?? null);
  }

  async deleteOne(filter: Filter, options: WriteOptions = {}) {
    return { deletedCount: (await this.#writeOne({ kind: "delete", filter }, options)).deleted };
  }

  async deleteMany(filter: Filter, options: WriteOptions = {}) {
    return { deletedCount: (await this.#writeOne({ kind: "delete", filter, multi: true }, options)).deleted };
  }

  async bulkWrite(operations: readonly BulkOperation[], options: WriteOptions = {}) {
    const { results } = await this.#writeMany(
      operations.map((one) => {
        if ("deleteOne" in one) return { kind: "delete", filter: one.deleteOne.filter };
        const { filter, replacement, ...rest } = one.replaceOne;
        return toUpdate(filter, replacement, rest);
      }),
      options,
    );
    return {
      matchedCount: results.reduce((sum, { matched }) => sum + matched, 0),
      deletedCount: results.reduce((sum, { deleted }) => sum + deleted, 0),
    };
  }

  createIndexes(
    indexes: readonly { readonly key: Document; readonly name: string; readonly unique: boolean }[],
  ): Promise<void> {
    return this.#options.connection.send((primary) => {
      for (const { key, name, unique } of indexes)
        primary.createIndex(this.collectionName, name, Object.keys(key), unique);
    }, "retryable write");
  }

  async #find(
    given: Filter,
    { session, projection, sort, limit }: FindOptions,
  ): Promise<readonly Document[]> {
    const { name, host, connection } = this.#options;
    const transaction = session?.use();
    const filter = copy(given);
    const found = await connection.send(
      (primary) => primary.find({ client: host, collection: name, filter, projection, transaction }),
      transaction === undefined ? "read" : "in transaction",
    );
    const sorted = sort === undefined ? found : found.toSorted((a, b) => compareBy(sort, a, b));
    return limit === undefined ? sorted : sorted.slice(0, limit);
  }

  async #write(
    given: readonly Statement[],
    { session, ordered = true, maxTimeMS }: WriteOptions,
  ): Promise<WriteResult> {
    const { name, host, connection, isReplicaSet } = this.#options;
    const transaction = session?.use();
    const statements = copy(given);
    const isRetried =
      isReplicaSet && transaction === undefined && !statements.some((one) => "multi" in one && one.multi);
    const retryId = isRetried ? createName() : undefined;
    return connection.send(
      (primary) =>
        primary.write({
          client: host,
          collection: name,
          statements,
          ordered,
          retryId,
          maxTimeMs: maxTimeMS,
          awaitsMajority: isMajority(this.writeConcern),
          transaction,
        }),
      transaction !== undefined ? "in transaction" : isRetried ? "retryable write" : "plain",
    );
  }

  async #writeOne(statement: Statement, options: WriteOptions = {}): Promise<StatementResult> {
    const { results, errors } = await this.#write([statement], options);
    if (errors[0] !== undefined) throw errors[0].error;
    return results[0] ?? noMatch;
  }

  async #writeMany(statements: readonly Statement[], options: WriteOptions): Promise<WriteResult> {
    const result = await this.#write(statements, options).catch((error: unknown) => {
      throw error instanceof Error ? new MongoBulkWriteError(error, noResult as never) : error;
    });
    if (result.errors.length === 0) return result;
    throw new MongoBulkWriteError(
      { message: "write failed", code: 11000, writeErrors: toWriteErrors(result) as never },
      noResult as never,
    );
  }
}

/** Numbers, times or texts; an absent one comes first. */
function toSortable(value: unknown): number | string {
  if (value instanceof Date) return value.getTime();
  return typeof value === "number" || typeof value === "string" ? value : -Infinity;
}

function compareBy(sort: Readonly<Record<string, 1 | -1>>, a: Document, b: Document): number {
  for (const [field, direction] of Object.entries(sort)) {
    const [one, other] = [toSortable(a[field]), toSortable(b[field])];
    if (one !== other) return one < other ? -direction : direction;
  }
  return 0;
}

/** The errors of single statements, as MongoDB reports them. */
export const toWriteErrors = ({ errors }: WriteResult) =>
  errors.map(({ index, error }) => ({ index, code: error.code, errmsg: error.message }));

const toUpdate = (filter: Filter, update: Document, { upsert = false }: WriteOptions): Statement => ({
  kind: "update",
  filter,
  update,
  upsert,
});

/**
 * The part of a cursor that `streamBatches` uses. Each batch is a read of its own, so a scan does not see a
 * snapshot.
 */
function createBatches(find: () => Promise<readonly Document[]>, raw = false) {
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
      return raw ? documents.map((one) => Buffer.from(BSON.serialize(one))) : documents;
    },
    close: () => Promise.resolve(),
  };
}
