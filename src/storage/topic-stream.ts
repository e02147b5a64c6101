import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import type { TopicRecord } from "./topic-records.ts";

/** What is needed of a topic to tell which events belong to it. */
export interface StreamedTopic {
  readonly id: string;
  readonly externalId: string;
  readonly name: string;
  readonly namespace: string;
  readonly headerQuery: string;
  readonly contentQuery: string;
}

const topicsAnAnswer = 5_000;

/**
 * All topics, in no particular order, read as fast as they are taken. One that is written meanwhile may be there or not.
 * Throws Unavailable.
 */
export async function* streamTopics(database: Database): AsyncGenerator<StreamedTopic> {
  const fields = { topic_id: 1, topic_name: 1, namespace: 1, header_query: 1, content_query: 1 };
  const cursor = database
    .collection<TopicRecord>(collections.topics)
    .find({}, { projection: fields, batchSize: topicsAnAnswer });
  try {
    while (await database.run(() => cursor.hasNext())) yield* cursor.readBufferedDocuments().map(fromFields);
  } finally {
    // What is left of it on the server goes by itself in time; that must not hide why the reading ended.
    await cursor.close().catch(() => undefined);
  }
}

/** About how many topics there are, which the store knows without counting. Throws Unavailable. */
export const countTopics = (database: Database): Promise<number> =>
  database.run(() => database.collection<TopicRecord>(collections.topics).estimatedDocumentCount());

const fromFields = (record: TopicRecord): StreamedTopic => ({
  id: record._id,
  externalId: record.topic_id,
  name: record.topic_name,
  namespace: record.namespace,
  headerQuery: record.header_query,
  contentQuery: record.content_query,
});
