import { elapsed, now, sleep } from "@topicsync/lib/platform";
import type { FeedListener, Following, TopicChange } from "../../topics/live/feed.ts";
import type { Database } from "../database/database.ts";
import { collections } from "../names.ts";
import { findByExternalIds, toRenames, type RetiredRecord, type TopicRecord } from "./records.ts";

const pollIntervalMs = 10_000;
/**
 * Records have the time of their decision. A batch that was decided ahead waits for the previous one, which
 * may take 60 s, its own transaction may commit 60 s later, and clocks differ.
 */
const overlapMs = 180_000;
/** How often change streams are tried. */
const streamRetryMs = 300_000;

interface FoundChange {
  /** Differs for each version of a topic. */
  readonly key: string;
  readonly change: TopicChange;
}

interface TopicPollOptions extends FeedListener {
  /** Opens change streams; undefined if polling has to go on. */
  readonly openStreams: (listener: FeedListener) => Promise<Following | undefined>;
  /** Change streams are open, so polling has ended. */
  readonly onReplaced: () => void;
}

/** Polls the times of topics and retirements until change streams can be opened. */
export class TopicPoll implements Following {
  readonly #database: Database;
  readonly #options: TopicPollOptions;
  readonly #closing = new AbortController();
  #streams: Following | undefined;
  #since = new Date(now() - overlapMs);
  /** The changes of the last poll. The next poll finds some of them again, within the overlap. */
  #seen: ReadonlySet<string> = new Set();

  constructor(database: Database, options: TopicPollOptions) {
    this.#database = database;
    this.#options = options;
    this.#pollUntilStreams().catch((error: unknown) => {
      this.#lose(error);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#streams?.close();
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #lose(reason: unknown): void {
    if (this.#isClosed()) return;
    this.#closing.abort();
    this.#options.onLost(reason);
  }

  async #pollUntilStreams(): Promise<void> {
    const { openStreams, onChanged, onReplaced } = this.#options;
    const onLost = (error: unknown): void => {
      this.#lose(error);
    };
    let retryAt = elapsed() + streamRetryMs;
    while (this.#streams === undefined && !this.#isClosed()) {
      await sleep(pollIntervalMs, this.#closing.signal);
      if (this.#isClosed()) return;
      if (elapsed() >= retryAt) {
        this.#streams = await openStreams({ onChanged, onLost });
        retryAt = elapsed() + streamRetryMs;
        if (this.#isClosed()) break;
      }
      // Once more after the streams were opened, which report only later changes.
      await this.#poll();
    }
    if (this.#isClosed()) await this.#streams?.close();
    else onReplaced();
  }

  async #poll(): Promise<void> {
    const from = this.#since;
    this.#since = new Date(now() - overlapMs);
    const found = await this.#findChanges(from);
    const unseen = found.filter(({ key }) => !this.#seen.has(key));
    const remaining = await this.#findRemaining(unseen.map(({ change }) => change));
    if (this.#isClosed()) return;
    this.#options.onChanged(unseen.map(({ change }) => change));
    this.#seen = new Set(found.filter(({ change }) => !remaining.has(change)).map(({ key }) => key));
  }

  async #findChanges(from: Date): Promise<readonly FoundChange[]> {
    const topics = this.#database.collection<TopicRecord>(collections.topics);
    const retired = this.#database.collection<RetiredRecord>(collections.retiredTopics);
    const [active, removed] = await this.#database.run(() =>
      Promise.all([
        topics
          .find(
            { sys_updated_on: { $gte: from } },
            { projection: { topic_id: 1, sys_updated_on: 1, former_ids: 1 } },
          )
          .toArray(),
        // Names both kinds, so that the index `retired_by_time` applies.
        retired
          .find(
            { "retired_by.kind": { $in: ["announcement", "http"] }, retired_on: { $gte: from } },
            { projection: { topic_id: 1, former_ids: 1 } },
          )
          .toArray(),
      ]),
    );
    return [
      ...active.flatMap(({ _id, topic_id: externalId, sys_updated_on, ...topic }) => {
        const updatedOn = sys_updated_on.getTime();
        const changes: TopicChange[] = [{ externalId, updatedOn }, ...toRenames(topic)];
        return changes.map((change) => ({ key: `${_id} ${updatedOn} ${change.externalId}`, change }));
      }),
      // Its renames as well: it may have been renamed since the last poll.
      ...removed.flatMap(({ _id, topic_id: externalId, ...topic }) => {
        const changes: TopicChange[] = [{ externalId, updatedOn: undefined }, ...toRenames(topic)];
        return changes.map((change) => ({ key: `${_id} ${change.externalId}`, change }));
      }),
    ];
  }

  /**
   * Retirements whose topics still exist: without transactions, a topic is removed after its retirement is
   * stored.
   */
  async #findRemaining(changes: readonly TopicChange[]): Promise<ReadonlySet<TopicChange>> {
    const database = this.#database;
    const topics = database.collection<TopicRecord>(collections.topics);
    const retirements = changes.filter(({ updatedOn }) => updatedOn === undefined);
    const ids = retirements.map(({ externalId }) => externalId);
    const found = await findByExternalIds({ database, topics }, ids, { projection: { topic_id: 1 } });
    const existing = new Set(found.map(({ topic_id }) => topic_id));
    return new Set(retirements.filter(({ externalId }) => existing.has(externalId)));
  }
}
