import type { Filter } from "mongodb";

import type { Source, Topic } from "../topics/topic.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import { fromTopicRecord, type TopicRecord } from "./topic-records.ts";

/** Which topics are meant; all of them where nothing is given. */
export interface TopicChoice {
  readonly externalIds?: readonly string[] | undefined;
  /** The whole name; the beginning of one where it ends in `*`. */
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly source?: Source["kind"] | undefined;
}

const topicsAnAnswer = 1_000;

/**
 * Topics by their external ids, from the first to the last or up to a limit, read as fast as they are taken. One that is
 * written meanwhile may be there or not. Throws UnavailableError.
 */
export async function* listTopics(
  database: Database,
  choice: TopicChoice,
  limit?: number,
): AsyncGenerator<Topic> {
  const { externalIds, ...others } = choice;
  if (externalIds !== undefined && externalIds.length !== 1) {
    // One after another, for their order: SecantusDB loses it where it looks several up.
    for (const id of [...new Set(externalIds)].toSorted())
      yield* listTopics(database, { ...others, externalIds: [id] });
    return;
  }
  const cursor = database.collection<TopicRecord>(collections.topics).find(filterOf(choice), {
    sort: { topic_id: 1 },
    batchSize: Math.min(limit ?? topicsAnAnswer, topicsAnAnswer),
    ...(limit === undefined ? {} : { limit }),
  });
  try {
    while (await database.run(() => cursor.hasNext()))
      yield* cursor.readBufferedDocuments().map(fromTopicRecord);
  } finally {
    // What is left of it on the server goes by itself in time; that must not hide why the reading ended.
    await cursor.close().catch(() => undefined);
  }
}

const filterOf = ({ externalIds, name, namespace, source }: TopicChoice): Filter<TopicRecord> => ({
  ...(externalIds?.[0] === undefined ? {} : { topic_id: externalIds[0] }),
  ...(name === undefined ? {} : { topic_name: nameFilter(name) }),
  ...(namespace === undefined ? {} : { namespace }),
  ...(source === undefined ? {} : { "source.kind": source }),
});

/** A range, since not every store finds anything by a regular expression on an indexed field. */
const nameFilter = (name: string): string | { $gte: string; $lt: string } =>
  name.endsWith("*") ? { $gte: name.slice(0, -1), $lt: `${name.slice(0, -1)}\u{10FFFF}` } : name;
