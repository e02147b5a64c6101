import type { ChangeStream, ChangeStreamDocument, Document } from "mongodb";

import { messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { FeedListener, Following, TopicChange, TopicFeed } from "../picking/ports.ts";
import type { Database } from "./database.ts";
import { recordsOf } from "./look-up.ts";
import { collections, type CollectionName } from "./names.ts";
import { streamTopics } from "./topic-stream.ts";
import { pickedFields, toPickable, type RetiredRecord, type TopicRecord } from "./topic-records.ts";

const pollEveryMs = 10_000;
/** Clocks of several instances differ, and what was written first may become visible later. */
const overlapMs = 30_000;

/** The stored topics for picking, followed by change streams; by `sys_updated_on` on a store that has none. */
export function createTopicFeed(database: Database, log: Logger): TopicFeed {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);

  async function openStreams({ changed, lost }: FeedListener): Promise<Following> {
    const streams = await Promise.all(
      [collections.topics, collections.retiredTopics].map((name) => watch(name, changed, lost)),
    );
    return {
      close: async () => {
        await Promise.all(streams.map((stream) => stream.close()));
      },
    };
  }

  async function watch(
    name: CollectionName,
    changed: FeedListener["changed"],
    lost: FeedListener["lost"],
  ): Promise<ChangeStream> {
    const stream = database
      .collection<Document>(name)
      .watch([{ $match: { operationType: { $in: ["insert", "replace", "update"] } } }], {
        fullDocument: "updateLookup",
        // The only level that change streams have.
        readConcern: { level: "majority" },
      });
    const tell = (change: ChangeStreamDocument | null): void => {
      const one = change === null ? undefined : changeOf(change, name);
      if (one !== undefined) changed([one]);
    };
    const readOn = async (): Promise<void> => {
      while (!stream.closed) tell(await stream.next());
    };
    try {
      // The stream is open on the server once this has an answer.
      tell(await stream.tryNext());
    } catch (error) {
      await stream.close().catch(() => undefined);
      throw error;
    }
    readOn().catch((error: unknown) => {
      if (!stream.closed) lost(error);
    });
    return stream;
  }

  function poll({ changed, lost }: FeedListener): Following {
    let since = new Date(Date.now() - overlapMs);
    const look = async (): Promise<void> => {
      const from = since;
      since = new Date(Date.now() - overlapMs);
      const [there, gone] = await database.run(() =>
        Promise.all([
          topics
            .find({ sys_updated_on: { $gte: from } }, { projection: { topic_id: 1, sys_updated_on: 1 } })
            .toArray(),
          retired.find({ retired_on: { $gte: from } }, { projection: { topic_id: 1 } }).toArray(),
        ]),
      );
      changed([
        ...there.map((one) => ({ externalId: one.topic_id, updatedOn: one.sys_updated_on.getTime() })),
        ...gone.map((one) => ({ externalId: one.topic_id, updatedOn: undefined })),
      ]);
    };
    const timer = setInterval(() => void look().catch(lost), pollEveryMs);
    return {
      close: () => {
        clearInterval(timer);
        return Promise.resolve();
      },
    };
  }

  return {
    all: () => streamTopics(database),

    find: async (externalIds) =>
      (await recordsOf({ database, topics }, externalIds, { projection: pickedFields })).map(toPickable),

    async follow(listener) {
      // Asks whether MongoDB answers at all: what fails then is the stream.
      await database.ping();
      try {
        return await openStreams(listener);
      } catch (error) {
        await database.ping();
        log.info(
          { reason: messageOf(error) },
          "this MongoDB has no change streams: topics of other instances are looked for every 10 s",
        );
        return poll(listener);
      }
    },
  };
}

function changeOf(change: ChangeStreamDocument, name: CollectionName): TopicChange | undefined {
  // Null when the record is gone again.
  const record = "fullDocument" in change ? (change.fullDocument as unknown as TopicRecord | null) : null;
  if (record === null) return undefined;
  const { topic_id: externalId, sys_updated_on: updatedOn } = record;
  return { externalId, updatedOn: name === collections.topics ? updatedOn.getTime() : undefined };
}
