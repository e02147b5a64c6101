import type { RetiredTopic } from "../topics/topic.ts";
import { findActiveAndRetired, type TopicStores } from "../topics/whereabouts.ts";
import type { Database } from "./database.ts";
import { collections } from "./names.ts";
import type { RetiredRecord } from "./topic-records.ts";

const idsAnAnswer = 200;

/** The topics that a user disabled and that neither came back nor were announced since, by external id. Throws UnavailableError. */
export async function* listDisabled(database: Database, stores: TopicStores): AsyncGenerator<RetiredTopic> {
  const cursor = database
    .collection<RetiredRecord>(collections.retiredTopics)
    .find({ "retired_by.kind": "http" }, { sort: { topic_id: 1 }, batchSize: idsAnAnswer })
    .project<Pick<RetiredRecord, "topic_id">>({ topic_id: 1 });
  let before: string | undefined;
  try {
    while (await database.run(() => cursor.hasNext())) {
      // A topic can be disabled again and again.
      const ids = new Set(cursor.readBufferedDocuments().map(({ topic_id }) => topic_id));
      if (before !== undefined) ids.delete(before);
      before = [...ids].at(-1) ?? before;
      const { active, last } = await findActiveAndRetired(stores, [...ids]);
      for (const { externalId } of active) ids.delete(externalId);
      const disabled = new Map(
        last.flatMap((one) => (one.retiredBy.kind === "http" ? [[one.topic.externalId, one]] : [])),
      );
      for (const id of ids) {
        const one = disabled.get(id);
        if (one !== undefined) yield one;
      }
    }
  } finally {
    await cursor.close().catch(() => undefined);
  }
}
