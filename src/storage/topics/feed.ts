import { MongoServerError } from "mongodb";

import { getErrorMessage } from "@topicsync/lib/errors";
import { InvariantError } from "@topicsync/lib/invariant";
import type { Logger } from "@topicsync/lib/logger";
import type { FeedListener, Following, IndexedTopic, TopicFeed } from "../../topics/live/feed.ts";
import type { Database } from "../database/database.ts";
import { classify } from "../database/failures.ts";
import { collections } from "../names.ts";
import { streamBatches } from "../queries.ts";
import { readIndexed } from "../raw-topics.ts";
import { TopicPoll } from "./poll.ts";
import { findByExternalIds, indexedFields, pickedFields, toPickable, type TopicRecord } from "./records.ts";
import { electionError, TopicStreams } from "./streams.ts";

/** Small enough for a topic index to take in without blocking the event loop. */
const topicsPerBatch = 1_000;
/** Change streams that fail this often in succession are replaced by polling. */
const maxStreamFailures = 3;

/**
 * Follows the stored topics by change streams, or by polling their times while there are none. Where
 * elections are not visible, only what a majority has is read (see `TopicStreams`).
 */
export function createTopicFeed(database: Database, log: Logger): TopicFeed {
  const topics = database.collection<TopicRecord>(collections.topics);
  const choice = new FollowingChoice(database, log);

  const getReadOptions = () =>
    database.seesElections() ? {} : { readConcern: { level: "majority" } as const };

  return {
    streamAll: (): AsyncIterable<readonly IndexedTopic[]> => {
      const cursor = topics.find<Buffer>(
        {},
        { ...getReadOptions(), projection: indexedFields, batchSize: topicsPerBatch, raw: true },
      );
      return streamBatches(database, { cursor, as: "run" }, readIndexed);
    },

    find: async (externalIds) =>
      (
        await findByExternalIds({ database, topics }, externalIds, {
          ...getReadOptions(),
          projection: pickedFields,
        })
      ).map(toPickable),

    follow: (listener) => choice.follow(listener),
  };
}

/** Chooses between change streams and polling. */
class FollowingChoice {
  readonly #database: Database;
  readonly #log: Logger;
  /** How often change streams failed in succession, while the store responded otherwise. */
  #failures = 0;

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  async follow(listener: FeedListener): Promise<Following> {
    const streams = this.#failures < maxStreamFailures ? await this.#tryStreams(listener) : undefined;
    return (
      streams ??
      new TopicPoll(this.#database, {
        ...listener,
        openStreams: (opened) => this.#tryStreams(opened),
        onReplaced: () => {
          this.#failures = 0;
          this.#log.info("change streams opened again: polling ended");
        },
      })
    );
  }

  /**
   * Opens change streams. Returns undefined if they are to be replaced by polling. Throws UnavailableError.
   */
  async #tryStreams(listener: FeedListener): Promise<Following | undefined> {
    try {
      return await this.#database.run(() => this.#openStreams(listener));
    } catch (error) {
      if (error === electionError || error instanceof InvariantError) throw error;
      if (lacksChangeStreams(error)) {
        if (this.#failures < maxStreamFailures)
          this.#log.info(
            { reason: getErrorMessage(error) },
            "no change streams: polling for changes by other instances every 10 s",
          );
        this.#failures = maxStreamFailures;
        return undefined;
      }
      // An outage says nothing about change streams.
      await this.#database.ping();
      this.#countFailure(error);
      if (this.#failures < maxStreamFailures) throw error;
      return undefined;
    }
  }

  #openStreams({ onChanged, onLost }: FeedListener): Promise<Following> {
    return TopicStreams.open(this.#database, {
      onChanged,
      onEnded: ({ reason, isLost, isLasting }) => {
        if (isLasting) this.#failures = 0;
        else if (isLost && reason !== electionError) this.#countFailure(reason);
        if (isLost) onLost(reason);
      },
    });
  }

  #countFailure(error: unknown): void {
    this.#failures += 1;
    if (this.#failures === maxStreamFailures)
      this.#log.warn(
        { reason: getErrorMessage(error) },
        "change streams failed three times: polling for changes by other instances every 10 s",
      );
  }
}

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
