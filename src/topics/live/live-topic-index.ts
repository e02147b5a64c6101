import { getErrorMessage, NotLoadedError } from "@topicsync/lib/errors";
import { invariant, InvariantError } from "@topicsync/lib/invariant";
import type { Logger } from "@topicsync/lib/logger";
import { sleep } from "@topicsync/lib/platform";
import { rejectOnAbort, withTimeout } from "@topicsync/lib/concurrency/timeout";
import { Turns } from "@topicsync/lib/concurrency/turns";
import type { EventRecord, MatchCount } from "@topicsync/filters";
import type { TopicWrites } from "../snapshot.ts";
import { includesNamespace, type Namespaces } from "../../users/rights.ts";
import { ApplyQueue } from "./apply-queue.ts";
import type { Following, IndexedTopic, TopicChange, TopicFeed } from "./feed.ts";
import { OwnWrites, secondReadDelayMs } from "./own-writes.ts";
import { readPickedTopics, type PickedTopics } from "./picked-topics.ts";
import { RereadQueue } from "./reread-queue.ts";
import { createTopicIndex, type IndexStatus, type Load, type TopicIndex } from "./topic-index.ts";

const firstLoadTimeoutMs = 10_000;
const retryDelayMs = 1_000;
const progressIntervalMs = 5_000;

/**
 * The modes of the index:
 *
 *   idle ── start ──▶ loading ── all read ──▶ live ── feed lost ──▶ reloading ── all read ──▶ live
 *
 * A load that fails begins again, in the same mode. Each mode may change to `closed`.
 *
 * `serving` is used by picks. `load` is being filled, and replaces it; there is none while the feed opens.
 * Both are kept up to date.
 */
type State =
  | { readonly mode: "idle" | "closed" }
  | { readonly mode: "loading"; readonly load: Load | undefined }
  | { readonly mode: "live"; readonly serving: TopicIndex }
  | { readonly mode: "reloading"; readonly serving: TopicIndex; readonly load: Load | undefined };

/**
 * An in-memory index of the stored topics that follows every write and finds the topics that an event belongs
 * to. It loads all topics, and reads those that change once more; what this process writes is applied
 * directly.
 *
 * Invariant: a topic in an index is never replaced by an older version of itself. What comes later is newer,
 * except:
 *   - what a load reads of a topic that was `applied` since it began. It skips the topic, unless that is to
 *     be read again;
 *   - what is read again while this process writes the topic (`RereadQueue.overtake`), or while a load reads
 *     it (`RereadQueue.catchUp`);
 *   - an own write that is reported late (`OwnWrites.isLate`). It is read again.
 * The times of versions cannot replace this order (ARCHITECTURE.md, "An event").
 *
 * Invariant: the index is live only while it follows the feed, so every change is known, or is being read.
 */
export class LiveTopicIndex {
  readonly #feed: TopicFeed;
  readonly #log: Logger;
  readonly #ownWrites = new OwnWrites();
  readonly #rereads: RereadQueue;
  readonly #changes = new ApplyQueue();
  readonly #closing = new AbortController();
  #state: State = { mode: "idle" };
  /** Aborted once the feed is lost, or the index is closed. */
  #following = new AbortController();
  /** Resolves with the next load, and when closed. */
  #live = Promise.withResolvers<undefined>();
  #running: Promise<void> | undefined;

  constructor(feed: TopicFeed, log: Logger) {
    this.#feed = feed;
    this.#log = log;
    this.#rereads = new RereadQueue({
      find: (externalIds) => feed.find(externalIds),
      onRead: (externalId, topic) => {
        this.#enqueue(externalId, topic);
        void this.#applyChanges();
      },
      onFailed: this.#lose,
    });
  }

  /** Starts loading the topics. */
  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Returns the topics of an event as they are stored, those in some namespaces only. Starts loading if
   * necessary, and waits up to 10 s for the first load. Throws NotLoadedError after that, and
   * UnavailableError.
   */
  async pick(event: unknown, record: EventRecord | undefined, namespaces: Namespaces): Promise<PickedTopics> {
    const pickVisible = await this.openPicker(namespaces);
    const { topics, total } = await readPickedTopics(this.#feed, pickVisible(event, record));
    // A topic may have changed since.
    return { topics: topics.filter(({ namespace }) => includesNamespace(namespaces, namespace)), total };
  }

  /** Waits like `pick`. Returns what finds the external ids of an event's topics in some namespaces. */
  async openPicker(
    namespaces: Namespaces,
  ): Promise<(event: unknown, record: EventRecord | undefined) => string[]> {
    const { picker } = await this.#waitForIndex();
    return (event, record) => {
      const picked = picker.pick(event, record);
      return namespaces === "all"
        ? picked
        : picked.filter((id) => includesNamespace(namespaces, picker.getNamespace(id)));
    };
  }

  /** Starts loading if necessary, and resolves once every change is known. */
  async waitUntilLive(): Promise<void> {
    this.start();
    if (this.#state.mode !== "live") await this.#live.promise;
  }

  /**
   * Returns the external ids of the topics of an event at this moment, in no particular order; undefined
   * unless every change is known.
   */
  pickNow(event: unknown, record?: EventRecord): string[] | undefined {
    if (this.#state.mode !== "live") return undefined;
    invariant(!this.#following.signal.aborted, "an index is live only while it follows the feed");
    return this.#state.serving.picker.pick(event, record);
  }

  /** Counts a match of each topic that `pickNow` has just returned. */
  countPicked(): void {
    this.#getServing()?.picker.countPicked();
  }

  /** Counts matches of a topic. */
  count(externalId: string, matches: number): void {
    this.#getServing()?.picker.count(externalId, matches);
  }

  /** Yields the topics that were counted since they were yielded last. */
  takeCounts(): Iterable<MatchCount> {
    return this.#getServing()?.picker.takeCounts() ?? [];
  }

  /** How often a time in a filter was compared with values that are no times, since the last call. */
  readonly takeMissedTimes = (): number => this.#getServing()?.picker.takeMissedTimes() ?? 0;

  /** The namespace of a topic that `pickNow` returned. */
  readonly getNamespace = (externalId: string): string =>
    this.#getServing()?.picker.getNamespace(externalId) ?? "";

  /** Applies what this process has written; resolves once all of it is. */
  readonly changed = async ({
    replaced = [],
    removed = [],
    retired = [],
    updated = [],
    created = [],
  }: Partial<TopicWrites>): Promise<void> => {
    if (this.#state.mode === "idle" || this.#state.mode === "closed") return;
    const late = new Set<string>();
    const apply = (externalId: string, topic: IndexedTopic | undefined, writtenOn?: Date): void => {
      this.#rereads.overtake(externalId);
      this.#enqueue(externalId, topic);
      if (writtenOn !== undefined && this.#ownWrites.isLate(writtenOn)) late.add(externalId);
    };
    for (const { topic, action, endedOn } of replaced)
      if (action === "renamed") apply(topic.externalId, undefined, endedOn);
    for (const { externalId } of removed) apply(externalId, undefined);
    for (const { topic, retiredOn } of retired) apply(topic.externalId, undefined, retiredOn);
    for (const topic of [...updated, ...created]) {
      const { externalId, updatedOn } = topic;
      this.#ownWrites.add(externalId, updatedOn);
      apply(externalId, topic, updatedOn);
    }
    const applying = this.#applyChanges();
    for (const id of late) this.#ownWrites.delete(id);
    this.#rereads.add(late);
    await applying;
  };

  readonly status = (): IndexStatus => ({
    mode: this.#state.mode,
    ...(this.#getServing()?.status() ?? { topics: 0, unconditional: 0, unreadable: 0 }),
    topicsRead: "load" in this.#state ? (this.#state.load?.topicsRead ?? 0) : undefined,
  });

  async close(): Promise<void> {
    this.#closing.abort();
    this.#state = { mode: "closed" };
    this.#following.abort(new Error("the topic index was closed"));
    this.#live.resolve(undefined);
    await Promise.all([this.#running, this.#rereads.close()]);
  }

  #getServing(): TopicIndex | undefined {
    return "serving" in this.#state ? this.#state.serving : undefined;
  }

  #getLoad(): Load | undefined {
    return "load" in this.#state ? this.#state.load : undefined;
  }

  async #waitForIndex(): Promise<TopicIndex> {
    this.start();
    if (this.#getServing() === undefined)
      await withTimeout(firstLoadTimeoutMs, this.#live.promise).catch(() => undefined);
    const index = this.#getServing();
    if (index !== undefined) return index;
    throw new NotLoadedError(`topics are still being loaded; ${this.#getLoad()?.topicsRead ?? 0} so far`);
  }

  /** One topic is to be brought up to date, in both indexes while reloading; undefined removes it. */
  #enqueue(externalId: string, topic: IndexedTopic | undefined): void {
    const load = this.#getLoad();
    load?.applied.add(externalId);
    const indexes = [this.#getServing(), load?.index].filter((index) => index !== undefined);
    this.#changes.add({ externalId, topic, indexes });
  }

  readonly #applyChanges = (): Promise<void> => this.#changes.run().catch(this.#lose);

  readonly #handleChanges = (changes: readonly TopicChange[]): void => {
    const foreign = changes.filter((change) => !this.#ownWrites.takeEcho(change));
    if (foreign.length === 0) return;
    const ids = foreign.map(({ externalId }) => externalId);
    this.#rereads.add(ids);
    setTimeout(() => {
      this.#rereads.add(ids);
    }, secondReadDelayMs).unref();
  };

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Follows the feed and loads; starts over whenever changes may have been missed. */
  async #run(): Promise<void> {
    while (!this.#isClosed()) {
      let following: Following | undefined;
      try {
        this.#following = new AbortController();
        const lost = rejectOnAbort(this.#following.signal);
        this.#setLoad(undefined);
        this.#ownWrites.follow();
        following = await this.#feed.follow({ onChanged: this.#handleChanges, onLost: this.#lose });
        // Reads that began before may miss changes that were not reported.
        this.#rereads.restart();
        await this.#loadAll(this.#following.signal, lost);
        await lost;
      } catch (error) {
        if (this.#isClosed()) continue;
        this.#lose(error);
        this.#logLoss(error);
        await sleep(retryDelayMs, this.#closing.signal);
      } finally {
        await following?.close().catch(() => undefined);
      }
    }
  }

  /** Changes may have been missed: nothing is picked "now" until all topics are loaded again. */
  readonly #lose = (error: unknown): void => {
    this.#setLoad(undefined);
    this.#following.abort(error);
  };

  #logLoss(error: unknown): void {
    const details = { reason: getErrorMessage(error) };
    if (error instanceof InvariantError) this.#log.error(details, "topics must be loaded again");
    else this.#log.warn(details, "topics must be loaded again");
  }

  #setLoad(load: Load | undefined): void {
    if (this.#state.mode === "closed") return;
    const serving = this.#getServing();
    this.#state = serving === undefined ? { mode: "loading", load } : { mode: "reloading", serving, load };
  }

  /** `lost` rejects once the signal is aborted. */
  async #loadAll(signal: AbortSignal, lost: Promise<never>): Promise<void> {
    signal.throwIfAborted();
    // Into an empty index: what was applied while the feed opened may have been removed unnoticed.
    const load: Load = {
      index: createTopicIndex(this.#log),
      applied: new Set(),
      topicsRead: 0,
    };
    this.#setLoad(load);
    let reportedAt = Date.now();
    const turns = new Turns();
    for await (const topics of this.#feed.streamAll()) {
      signal.throwIfAborted();
      for (const topic of topics) {
        this.#take(topic, load);
        if (!turns.isOver()) continue;
        await turns.next();
        signal.throwIfAborted();
      }
      load.topicsRead += topics.length;
      if (Date.now() - reportedAt < progressIntervalMs) continue;
      reportedAt = Date.now();
      this.#log.info({ topics: load.topicsRead }, "loading topics");
    }
    // The load and a read at the same time may have found different versions.
    await Promise.race([this.#rereads.catchUp(), lost]);
    await this.#applyChanges();
    signal.throwIfAborted();
    invariant(this.#getLoad() === load, "only the load in progress is served");
    for (const { externalId, matches } of this.takeCounts()) load.index.picker.count(externalId, matches);
    this.#state = { mode: "live", serving: load.index };
    this.#live.resolve(undefined);
    this.#live = Promise.withResolvers();
    this.#log.info(load.index.status(), "topics loaded");
  }

  /**
   * Adds a topic that a load has read. While the topic is to be read again, an older version is better than
   * none.
   */
  #take(topic: IndexedTopic, { index, applied }: Load): void {
    if (!applied.has(topic.externalId) || this.#rereads.has(topic.externalId)) index.set(topic);
  }
}
