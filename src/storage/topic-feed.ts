import { MongoServerError, type ChangeStream, type ChangeStreamDocument, type Document } from "mongodb";

import { getErrorMessage } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { elapsed, now, sleep } from "../lib/platform.ts";
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
/**
 * Records have the time of their decision. A batch that was decided ahead waits for the one before, which may take 60 s, its own
 * transaction may commit 60 s later, and clocks differ.
 */
const overlapMs = 180_000;
/** Change streams that fail this often in succession are replaced by polling. */
const maxStreamFailures = 3;
/** A stream that ends sooner counts as one that could not be opened. */
const minStreamMs = 60_000;
/** While the feed polls, it tries to open change streams at this interval. */
const streamRetryMs = 300_000;
/** After an election that is not visible, majority reads may be older than a change for this time. */
const hiddenElectionMs = 10_000;

const electionError = new Error("the primary of MongoDB has changed");

/**
 * Follows the stored topics by change streams, or by polling their timestamps while there are none.
 *
 * Invariant: what is read while streams are open is reported when it changes, or the feed is lost. Streams report only what a
 * majority has, and stay with a member that is no longer the primary; reads return what an election may take back. So the
 * feed is lost with each election; where elections are not visible, only what a majority has is read.
 */
export function createTopicFeed(database: Database, log: Logger): TopicFeed {
  const topics = database.collection<TopicRecord>(collections.topics);
  const retired = database.collection<RetiredRecord>(collections.retiredTopics);
  /** How often change streams failed in succession, while the store responded otherwise. */
  let failures = 0;

  const getReadOptions = () =>
    database.seesElections() ? {} : { readConcern: { level: "majority" } as const };

  function countFailure(error: unknown): void {
    failures += 1;
    if (failures === maxStreamFailures)
      log.warn(
        { reason: getErrorMessage(error) },
        "change streams failed three times: polling for changes by other instances every 10 s",
      );
  }

  async function openStreams({ onChanged, onLost }: FeedListener): Promise<Following> {
    const openedAt = elapsed();
    let isOpen = false;
    // The driver closes a stream before it throws, so `stream.closed` does not show who ended it.
    const ending = new AbortController();
    const end = (reason: unknown): void => {
      if (ending.signal.aborted) return;
      ending.abort(reason);
      const isLasting = elapsed() - openedAt >= minStreamMs;
      if (isLasting) failures = 0;
      else if (isOpen && reason !== electionError) countFailure(reason);
      if (isOpen) onLost(reason);
    };
    const stopListening = database.onElection(() => {
      end(electionError);
    });
    const report = (change: TopicChange): void => {
      if (!ending.signal.aborted) onChanged([change]);
    };
    const opened = await Promise.allSettled(
      [collections.topics, collections.retiredTopics].map((name) => watch(name, report, end)),
    );
    const streams = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    for (const one of opened) if (one.status === "rejected") end(one.reason);
    const close = async (): Promise<void> => {
      isOpen = false;
      end("closed");
      stopListening();
      await Promise.all(streams.map((stream) => stream.close()));
    };
    if (ending.signal.aborted) {
      await close();
      throw ending.signal.reason;
    }
    isOpen = true;
    return { close };
  }

  async function watch(
    name: CollectionName,
    onChange: (change: TopicChange) => void,
    onEnd: (error: unknown) => void,
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
      if (one === undefined) return;
      onChange(one);
      if (!database.seesElections()) setTimeout(onChange, hiddenElectionMs, one).unref();
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
    readForever().catch(onEnd);
    return stream;
  }

  /** Opens change streams. Returns undefined when they are to be replaced by polling. Throws UnavailableError. */
  async function tryStreams(listener: FeedListener): Promise<Following | undefined> {
    try {
      return await database.run(() => openStreams(listener));
    } catch (error) {
      if (error === electionError) throw error;
      if (lacksChangeStreams(error)) {
        if (failures < maxStreamFailures)
          log.info(
            { reason: getErrorMessage(error) },
            "no change streams: polling for changes by other instances every 10 s",
          );
        failures = maxStreamFailures;
        return undefined;
      }
      // An outage says nothing about change streams.
      await database.ping();
      countFailure(error);
      if (failures < maxStreamFailures) throw error;
      return undefined;
    }
  }

  async function findChanges(from: Date): Promise<{ readonly key: string; readonly change: TopicChange }[]> {
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
    return [
      ...active.map(({ _id, topic_id: externalId, sys_updated_on }) => {
        const updatedOn = sys_updated_on.getTime();
        return { key: `${_id} ${updatedOn}`, change: { externalId, updatedOn } };
      }),
      ...removed.map(({ _id: key, topic_id: externalId }) => {
        return { key, change: { externalId, updatedOn: undefined } };
      }),
    ];
  }

  /** Retirements whose topics exist still: without transactions, a topic is removed after its retirement is stored. */
  async function findRemaining(changes: readonly TopicChange[]): Promise<ReadonlySet<TopicChange>> {
    const retirements = changes.filter(({ updatedOn }) => updatedOn === undefined);
    const ids = retirements.map(({ externalId }) => externalId);
    const found = await findByExternalIds({ database, topics }, ids, { projection: { topic_id: 1 } });
    const existing = new Set(found.map(({ topic_id }) => topic_id));
    return new Set(retirements.filter(({ externalId }) => existing.has(externalId)));
  }

  /** Polls until change streams can be opened. */
  function poll({ onChanged, onLost }: FeedListener): Following {
    const closing = new AbortController();
    const isClosed = (): boolean => closing.signal.aborted;
    let streams: Following | undefined;
    let since = new Date(now() - overlapMs);
    /** The changes of the last poll, some of which the next poll finds again within the overlap. */
    let seen = new Set<string>();
    const lose = (reason: unknown): void => {
      if (isClosed()) return;
      closing.abort();
      onLost(reason);
    };

    async function pollOnce(): Promise<void> {
      const from = since;
      since = new Date(now() - overlapMs);
      const found = await findChanges(from);
      const unseen = found.filter(({ key }) => !seen.has(key));
      const remaining = await findRemaining(unseen.map(({ change }) => change));
      if (isClosed()) return;
      onChanged(unseen.map(({ change }) => change));
      seen = new Set(found.filter(({ change }) => !remaining.has(change)).map(({ key }) => key));
    }

    async function pollUntilStreams(): Promise<void> {
      let retryAt = elapsed() + streamRetryMs;
      while (streams === undefined && !isClosed()) {
        await sleep(pollIntervalMs, closing.signal);
        if (isClosed()) return;
        if (elapsed() >= retryAt) {
          streams = await tryStreams({ onChanged, onLost: lose });
          retryAt = elapsed() + streamRetryMs;
          if (isClosed()) break;
        }
        // Once more after the streams were opened, which report only later changes.
        await pollOnce();
      }
      if (isClosed()) {
        await streams?.close();
        return;
      }
      failures = 0;
      log.info("change streams opened again: polling ended");
    }

    pollUntilStreams().catch(lose);
    return {
      close: async () => {
        closing.abort();
        await streams?.close();
      },
    };
  }

  return {
    streamAll: () => {
      const cursor = topics.find(
        {},
        { ...getReadOptions(), projection: indexedFields, batchSize: topicsPerBatch },
      );
      return streamBatches(database, cursor, toIndexed);
    },

    find: async (externalIds) =>
      (
        await findByExternalIds({ database, topics }, externalIds, {
          ...getReadOptions(),
          projection: pickedFields,
        })
      ).map(toPickable),

    follow: async (listener) =>
      (failures < maxStreamFailures ? await tryStreams(listener) : undefined) ?? poll(listener),
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
