import { setTimeout as sleep } from "node:timers/promises";

import { MongoServerError, type ChangeStream, type ChangeStreamDocument, type Document } from "mongodb";

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { FeedListener, Following, PickableTopic, TopicChange, TopicFeed } from "../matching/feed.ts";
import type { Database } from "./database.ts";
import { classify } from "./failures.ts";
import { findByExternalIds } from "./topic-records.ts";
import { collections, type CollectionName } from "./names.ts";
import { streamBatches, streamRecords } from "./queries.ts";
import {
  indexedFields,
  pickedFields,
  toIndexed,
  toPickable,
  type RetiredRecord,
  type TopicRecord,
} from "./topic-records.ts";

/** Small enough for a picker to take in without blocking the event loop. */
const topicsPerBatch = 1_000;
const pollIntervalMs = 10_000;
/** Records have the time of their decision; their transaction may commit 60 s later, and clocks differ. */
const overlapMs = 90_000;

/** Follows the stored topics by change streams, or by polling their timestamps on a store that has none. */
export function createTopicFeed(database: Database, log: Logger): TopicFeed {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);

  async function openStreams(listener: FeedListener): Promise<Following> {
    // The driver closes a stream before it throws, so `stream.closed` does not show who ended it.
    let isOpen = true;
    const lost = (error: unknown): void => {
      if (isOpen) listener.onLost(error);
      isOpen = false;
    };
    const opened = await Promise.allSettled(
      [collections.topics, collections.retiredTopics].map((name) => watch(name, listener.onChanged, lost)),
    );
    const streams = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const close = async (): Promise<void> => {
      isOpen = false;
      await Promise.all(streams.map((stream) => stream.close()));
    };
    const failed = opened.find(({ status }) => status === "rejected");
    if (failed?.status !== "rejected") return { close };
    await close();
    throw failed.reason;
  }

  async function watch(
    name: CollectionName,
    onChanged: FeedListener["onChanged"],
    onLost: FeedListener["onLost"],
  ): Promise<ChangeStream> {
    const stream = database
      .collection<Document>(name)
      .watch([{ $match: { operationType: { $in: ["insert", "replace", "update"] } } }], {
        fullDocument: "updateLookup",
        // The only level that change streams have.
        readConcern: { level: "majority" },
      });
    const report = (change: ChangeStreamDocument | null): void => {
      const one = change === null ? undefined : toTopicChange(change, name);
      if (one !== undefined) onChanged([one]);
    };
    const readForever = async (): Promise<never> => {
      for (;;) report(await stream.next());
    };
    try {
      // The first response shows that the stream is open on the server.
      report(await stream.tryNext());
    } catch (error) {
      await stream.close().catch(() => undefined);
      throw error;
    }
    readForever().catch(onLost);
    return stream;
  }

  function poll({ onChanged, onLost }: FeedListener): Following {
    const closing = new AbortController();
    let since = new Date(Date.now() - overlapMs);
    /** The changes of the last poll, some of which the next poll finds again within the overlap. */
    let seen = new Set<string>();

    async function pollOnce(): Promise<void> {
      const from = since;
      since = new Date(Date.now() - overlapMs);
      const [active, removed] = await database.run(() =>
        Promise.all([
          topics
            .find({ sys_updated_on: { $gte: from } }, { projection: { topic_id: 1, sys_updated_on: 1 } })
            .toArray(),
          // Names both kinds, so that the index `retired_by_time` applies.
          retired
            .find(
              { "retired_by.kind": { $in: ["announcement", "http"] }, retired_on: { $gte: from } },
              { projection: { topic_id: 1 } },
            )
            .toArray(),
        ]),
      );
      const found = [
        ...active.map(({ _id, topic_id: externalId, sys_updated_on }) => {
          const updatedOn = sys_updated_on.getTime();
          return { key: `${_id} ${updatedOn}`, change: { externalId, updatedOn } };
        }),
        ...removed.map(({ _id: key, topic_id: externalId }) => {
          return { key, change: { externalId, updatedOn: undefined } };
        }),
      ];
      onChanged(found.filter(({ key }) => !seen.has(key)).map(({ change }) => change));
      seen = new Set(found.map(({ key }) => key));
    }

    const readForever = async (): Promise<never> => {
      for (;;) {
        await sleep(pollIntervalMs, undefined, { signal: closing.signal });
        await pollOnce();
      }
    };
    readForever().catch((error: unknown) => {
      if (!closing.signal.aborted) onLost(error);
    });
    return {
      close: () => {
        closing.abort();
        return Promise.resolve();
      },
    };
  }

  return {
    streamAll: () => {
      const cursor = topics.find({}, { projection: indexedFields, batchSize: topicsPerBatch });
      return streamBatches(database, cursor, toIndexed);
    },

    find: async (externalIds) =>
      (await findByExternalIds({ database, topics }, externalIds, { projection: pickedFields })).map(
        toPickable,
      ),

    async follow(listener) {
      try {
        return await database.run(() => openStreams(listener));
      } catch (error) {
        if (!lacksChangeStreams(error)) throw error;
        log.info(
          { reason: getErrorMessage(error) },
          "no change streams: polling for changes by other instances every 10 s",
        );
        return poll(listener);
      }
    },
  };
}

/** Streams all topics, unordered. Topics written meanwhile may be missing. Throws UnavailableError. */
export function streamTopics(database: Database): AsyncGenerator<PickableTopic> {
  const cursor = database
    .collection<TopicRecord>(collections.topics)
    .find({}, { projection: pickedFields, batchSize: topicsPerBatch });
  return streamRecords(database, cursor, toPickable);
}

/** Estimates the number of topics from the collection's metadata. Throws UnavailableError. */
export const countTopics = (database: Database): Promise<number> =>
  database.run(() => database.collection<TopicRecord>(collections.topics).estimatedDocumentCount());

/** The server is standalone, or does not know the aggregation stage. */
const noChangeStreamsCodes: ReadonlySet<unknown> = new Set([40573, 40324]);

/** Amazon DocumentDB has no code of its own for change streams that are not enabled. */
const noChangeStreamsMessage = /change ?streams?\b.*\b(?:not enabled|not supported|disabled)/i;

/** Whether the store has no change streams, or none for this user. */
function lacksChangeStreams(error: unknown): boolean {
  const kind = classify(error);
  if (kind === "unsupported" || kind === "forbidden") return true;
  if (!(error instanceof MongoServerError)) return false;
  return noChangeStreamsCodes.has(error.code) || noChangeStreamsMessage.test(error.message);
}

function toTopicChange(change: ChangeStreamDocument, name: CollectionName): TopicChange | undefined {
  // Null when the record has been deleted since.
  const record = "fullDocument" in change ? (change.fullDocument as unknown as TopicRecord | null) : null;
  if (record === null) return undefined;
  const { topic_id: externalId, sys_updated_on: updatedOn } = record;
  return { externalId, updatedOn: name === collections.topics ? updatedOn.getTime() : undefined };
}
