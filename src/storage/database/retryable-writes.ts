import { Long, WriteConcern, type Document, type MongoClient } from "mongodb";

import { ConfigurationError } from "@topicsync/lib/errors";
import { collections } from "../names.ts";

interface FindAndModifyResponse {
  readonly value?: { readonly count?: unknown };
}

/**
 * Sends a write twice, as the driver does after a lost connection, and looks whether the store executes it
 * once: some products accept the number of a write and ignore it. Throws ConfigurationError if it does not.
 */
export async function checkRetryableWrites(client: MongoClient): Promise<void> {
  if (!client.options.retryWrites) return;
  const db = client.db();
  // Never ended: the driver would use the session, and with it the number, for another write.
  const session = client.startSession();
  async function count(): Promise<unknown> {
    const command: Document = {
      findAndModify: collections.meta,
      query: { _id: "retryable writes" },
      update: { $inc: { count: 1 } },
      upsert: true,
      new: true,
      txnNumber: Long.ONE,
    };
    if (db.writeConcern !== undefined) WriteConcern.apply(command, db.writeConcern);
    const { value }: FindAndModifyResponse = await db.command(command, { session });
    return value?.count;
  }
  const first = await count();
  if ((await count()) !== first)
    throw new ConfigurationError(
      "this MongoDB executes a write again that the driver repeats: add retryWrites=false to MONGODB_URI",
    );
}
