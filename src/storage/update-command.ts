import {
  MongoServerError,
  WriteConcern,
  type Collection,
  type Document,
  type Filter,
  type UpdateFilter,
} from "mongodb";

import type { Database } from "./database.ts";
import { classify, type WriteError } from "./failures.ts";

/** Changes one record; false when there is none. Empty operators are left out: not every product takes them. */
export async function changeOne<T extends Document>(
  records: Collection<T>,
  filter: Filter<T>,
  change: UpdateFilter<T>,
): Promise<boolean> {
  const update = Object.fromEntries(
    Object.entries(change).filter(([, members]) => Object.keys(members as object).length > 0),
  ) as UpdateFilter<T>;
  if (Object.keys(update).length === 0) return (await records.findOne(filter)) !== null;
  return (await records.updateOne(filter, update)).matchedCount === 1;
}

/**
 * A statement that meets a record or a unique key of an open transaction waits on the server until that ends. Shorter than the
 * driver waits, so that no command runs on that was given up, and those behind it get an answer.
 */
export const maxUpdateMs = 10_000;
const maxTimeMsExpired = 50;

/** A statement of MongoDB's `update` command. */
export interface UpdateStatement {
  readonly q: Document;
  readonly u: Document;
  readonly upsert?: boolean;
  readonly multi?: boolean;
}

/** What the command answers, as far as it is read here. */
interface UpdateAnswer {
  readonly writeErrors?: readonly {
    readonly index: number;
    readonly code: number;
    readonly errmsg: string;
  }[];
}

/**
 * Sends statements as one unordered `update` command, and gives what went wrong with single ones; the others are acknowledged
 * with the collection's write concern. Not `bulkWrite`, which works out the size of each statement before it encodes it.
 * Statements must bear to be repeated: where the connection is lost or the primary moves, they are sent once more, as the
 * driver does with retryable writes. Not where they took too long: whatever holds them up is still there. Throws what the driver throws.
 */
export async function updateAll<T extends Document>(
  database: Database,
  { collectionName, writeConcern }: Collection<T>,
  updates: readonly UpdateStatement[],
): Promise<readonly WriteError[]> {
  const command: Document = { update: collectionName, updates, ordered: false, maxTimeMS: maxUpdateMs };
  if (writeConcern !== undefined) WriteConcern.apply(command, writeConcern);
  const send = (): Promise<UpdateAnswer> => database.command(command);
  try {
    const { writeErrors = [] } = await send().catch((error: unknown) => {
      const tookTooLong = error instanceof MongoServerError && error.code === maxTimeMsExpired;
      if (tookTooLong || classify(error) !== "outage") throw error;
      return send();
    });
    return writeErrors.map(({ index, code, errmsg }) => ({
      index,
      error: new MongoServerError({ code, errmsg }),
    }));
  } catch (error) {
    // Told of the command as a whole, it may be any of the statements.
    if (error instanceof MongoServerError && ["duplicate", "conflict"].includes(classify(error)))
      return updates.map((_, index) => ({ index, error }));
    throw error;
  }
}
