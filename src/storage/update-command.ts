import { MongoServerError, WriteConcern, type Collection, type Document } from "mongodb";

import type { Database } from "./database.ts";
import { classify, type WriteError } from "./failures.ts";

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
 * driver does with retryable writes. Throws what the driver throws.
 */
export async function updateAll<T extends Document>(
  database: Database,
  { collectionName, writeConcern }: Collection<T>,
  updates: readonly UpdateStatement[],
): Promise<readonly WriteError[]> {
  const command: Document = { update: collectionName, updates, ordered: false };
  if (writeConcern !== undefined) WriteConcern.apply(command, writeConcern);
  const send = (): Promise<UpdateAnswer> => database.command(command);
  try {
    const { writeErrors = [] } = await send().catch((error: unknown) => {
      if (classify(error) !== "outage") throw error;
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
