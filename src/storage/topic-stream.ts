import type { PickableTopic } from "../matching/feed.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { pickedFields, toPickable, type TopicRecord } from "./topic-records.ts";

/** So few that whoever puts them into a picker blocks nobody for long. */
const topicsAnAnswer = 1_000;

/**
 * All topics, in no particular order, read as fast as they are taken. One that is written meanwhile may be there or not.
 * Throws UnavailableError.
 */
export async function* streamTopics(database: Database): AsyncGenerator<PickableTopic> {
  const cursor = database
    .collection<TopicRecord>(collections.topics)
    .find({}, { projection: pickedFields, batchSize: topicsAnAnswer });
  try {
    while (await database.run(() => cursor.hasNext())) yield* cursor.readBufferedDocuments().map(toPickable);
  } finally {
    // What is left of it on the server goes by itself in time; that must not hide why the reading ended.
    await cursor.close().catch(() => undefined);
  }
}

/** About how many topics there are, which the store knows without counting. Throws UnavailableError. */
export const countTopics = (database: Database): Promise<number> =>
  database.run(() => database.collection<TopicRecord>(collections.topics).estimatedDocumentCount());
