import { createLogger } from "@topicsync/lib/logger";
import type { BatchStore } from "@topicsync/kafka";
import type { Database } from "../../src/storage/database/database.ts";
import { createPositions, type SessionOptions } from "../../src/storage/positions.ts";

const log = await createLogger("silent");

/** The writes of a batch, as a function that is called in its transaction; undefined for none. */
export type WriteInSession = ((options: SessionOptions) => Promise<void>) | undefined;

/** The positions of a database, with batches of any writes. */
export const openPositions = (database: Database): BatchStore<WriteInSession> =>
  createPositions<WriteInSession>(database, { log, write: async (write, options) => write?.(options) });
