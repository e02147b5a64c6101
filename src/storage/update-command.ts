import {
  MongoServerError,
  WriteConcern,
  type Collection,
  type Document,
  type Filter,
  type UpdateFilter,
} from "mongodb";

import { maxUpdateMs, updateLimit } from "./database/client-options.ts";
import type { Database } from "./database/database.ts";
import { classify, isWorthRepeating, repeatOnce, type WriteError } from "./database/failures.ts";
import type { SessionOptions } from "./positions.ts";

/** Changes one record. Returns false when none matches. Omits empty operators, which some products reject. */
export async function changeOne<T extends Document>(
  records: Collection<T>,
  filter: Filter<T>,
  change: UpdateFilter<T>,
): Promise<boolean> {
  const update = Object.fromEntries(
    Object.entries(change).filter(([, members]) => Object.keys(members as object).length > 0),
  ) as UpdateFilter<T>;
  if (Object.keys(update).length === 0) return (await records.findOne(filter)) !== null;
  return (await records.updateOne(filter, update, updateLimit)).matchedCount === 1;
}

/** A statement of MongoDB's `update` command. */
export interface UpdateStatement {
  readonly q: Document;
  readonly u: Document;
  readonly upsert?: boolean;
  readonly multi?: boolean;
}

/** The parts of the response that are read here. */
interface WriteResponse {
  readonly writeErrors?: readonly {
    readonly index: number;
    readonly code: number;
    readonly errmsg: string;
  }[];
}

/**
 * Sends statements as one unordered `update` command. Returns the errors of single statements; the others are
 * acknowledged with the collection's write concern. Faster than `bulkWrite`, which computes the size of each
 * statement before it encodes it. The statements must be idempotent: after a lost connection or a failover
 * they are sent once more, like retryable writes. After a timeout, or by an overloaded store, they are not,
 * since what blocked them is still there. Throws the driver's errors.
 */
export async function updateAll<T extends Document>(
  database: Database,
  { collectionName, writeConcern }: Collection<T>,
  updates: readonly UpdateStatement[],
): Promise<readonly WriteError[]> {
  const command = complete({ update: collectionName, ordered: false }, writeConcern);
  async function send(some: readonly UpdateStatement[]): Promise<readonly WriteError[]> {
    const { writeErrors = [] }: WriteResponse = await database.command({ ...command, updates: some });
    return writeErrors.map(({ index, code, errmsg }) => ({
      index,
      error: new MongoServerError({ code, errmsg }),
    }));
  }
  try {
    const failed = await repeatOnce(() => send(updates));
    // mongos reports the failure of a shard as errors of single statements.
    const repeated = failed.filter(({ error }) => isWorthRepeating(error));
    if (repeated.length === 0) return failed;
    const again = await send(repeated.flatMap(({ index }) => updates[index] ?? []));
    return [
      ...failed.filter((one) => !repeated.includes(one)),
      ...again.map(({ index, error }) => ({ index: repeated[index]?.index ?? index, error })),
    ];
  } catch (error) {
    // An error of the whole command may concern any statement.
    if (error instanceof MongoServerError && ["duplicate", "conflict"].includes(classify(error)))
      return updates.map((_, index) => ({ index, error }));
    throw error;
  }
}

/**
 * Inserts records with one ordered `insert` command of at most 16 MiB, in two thirds of the time of
 * `insertMany`, which encodes and keeps each on its own. Sent once: the driver repeats nothing in a
 * transaction, and a store without transactions has no retryable writes. Throws the driver's errors, also
 * that of the first record which is not stored.
 */
export async function insertAll<T extends Document>(
  database: Database,
  { collectionName, writeConcern }: Collection<T>,
  documents: readonly T[],
  options: SessionOptions,
): Promise<void> {
  const insert: Document = { insert: collectionName, documents };
  const command = options.session === undefined ? complete(insert, writeConcern) : insert;
  const { writeErrors: [first] = [] }: WriteResponse = await database.command(command, options);
  if (first !== undefined) throw new MongoServerError(first);
}

/** Adds what a command outside of a transaction lacks: the driver does not. */
function complete(command: Document, writeConcern: WriteConcern | undefined): Document {
  if (writeConcern !== undefined) WriteConcern.apply(command, writeConcern);
  return { ...command, maxTimeMS: maxUpdateMs };
}
