import type { Collection, FindOptions } from "mongodb";

import type { Database } from "./database.ts";
import type { TopicRecord } from "./topic-records.ts";

/** Several short look-ups side by side take less time than a long one. */
const idsALookUp = 200;

/** The records of these external ids; each look-up comes in a single answer. Throws UnavailableError. */
export async function findByExternalIds(
  { database, topics }: { readonly database: Database; readonly topics: Collection<TopicRecord> },
  externalIds: readonly string[],
  options: FindOptions = {},
): Promise<TopicRecord[]> {
  const found = await Promise.all(
    chunks(externalIds, idsALookUp).map((ids) =>
      database.run(() =>
        topics.find({ topic_id: { $in: ids } }, { ...options, batchSize: ids.length + 1 }).toArray(),
      ),
    ),
  );
  return found.flat();
}

/** The list in pieces of at most so many. */
export function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}
