import { getErrorMessage, NotLoadedError, UnavailableError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { maxPageBytes, measureRecords, recordsPerRead } from "../lib/page-bytes.ts";
import { now, sleep } from "../lib/platform.ts";
import { withTimeout } from "../lib/timeout.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import type { Following, IndexedTopic, PickableTopic, TopicChange, TopicFeed } from "./feed.ts";
import { explain, readFilters, type ConditionResult } from "./filter/topic-filters.ts";
import { createTopicIndex, type TopicIndex } from "./topic-index.ts";

/**
 * An in-memory index of the stored topics that follows every write and finds the topics that an event belongs
 * to.
 */
export interface LiveTopicIndex {
  /** Starts loading the topics. */
  start(): void;
  /**
   * Returns the first topics of an event by external id, at most 1,000 and fewer if they are large, and the number of all.
   * Starts loading if necessary, and waits up to 10 s for the first load. Throws NotLoadedError after that, and
   * UnavailableError.
   */
  pick(event: unknown): Promise<PickedTopics>;
  /** Starts loading if necessary, and resolves once every change is known. */
  waitUntilLive(): Promise<void>;
  /**
   * Returns the external ids of the topics of an event at this moment, in no particular order; undefined unless every
   * change is known.
   */
  pickNow(event: unknown): string[] | undefined;
  /** The namespace of a topic that `pickNow` returned; "" unless namespaces are kept. */
  getNamespace(externalId: string): string;
  /**
   * Evaluates each condition of a topic against an event; undefined if the topic is not stored. Throws
   * UnavailableError and FilterSyntaxError.
   */
  explain(externalId: string, event: unknown): Promise<ConditionResult[] | undefined>;
  /** Applies what this process has written. */
  readonly changed: (writes: Partial<TopicWrites>) => void;
  readonly status: () => IndexStatus;
  close(): Promise<void>;
}

export interface PickedTopics {
  readonly topics: readonly PickableTopic[];
  readonly total: number;
}

export interface IndexStatus {
  /** `live`: every change is known. */
  readonly mode: "idle" | "loading" | "live" | "reloading" | "closed";
  readonly topics: number;
  /** Of these, the topics without conditions: every event belongs to them. */
  readonly unconditional: number;
  /** The others, whose filters cannot be read. */
  readonly unreadable: number;
  /** Topics read by the load in progress; undefined without one. */
  readonly topicsRead: number | undefined;
}

const firstLoadTimeoutMs = 10_000;
const retryDelayMs = 1_000;
const rereadDelayMs = 1_000;
const topicsPerRead = 1_000;
const maxPickedTopics = 1_000;
const progressIntervalMs = 5_000;

/**
 * The modes of the index:
 *
 *   idle ── start ──▶ loading ── all read ──▶ live ── feed lost ──▶ reloading ── all read ──▶ live
 *                        └─ failed: again                              └─ failed: again
 *   closed, from each of them.
 *
 * `serving` is used by picks; `loading` is the one being filled, and replaces it. While reloading, both are kept
 * up to date.
 */
type State =
  | { readonly mode: "idle" | "closed" }
  | { readonly mode: "loading"; readonly loading: Load }
  | { readonly mode: "live"; readonly serving: TopicIndex }
  | { readonly mode: "reloading"; readonly serving: TopicIndex; readonly loading: Load };

interface Load {
  readonly index: TopicIndex;
  /** Topics that changed since the load began. */
  readonly changedIds: Set<string>;
  /** Topics that are to be read once more before the load is served. */
  readonly unconfirmed: Set<string>;
  readonly confirmed: PromiseWithResolvers<undefined>;
  topicsRead: number;
}

/**
 * Creates the index; nothing is loaded yet.
 *
 * Invariant: a topic in an index is never replaced by an older version of itself.
 *   - What this process wrote is the newest version, unless it is reported late (`isLate`): then it is read again.
 *   - A load skips `changedIds`, of which it may read an older version. Those that still wait to be read again
 *     it takes: until then an older version is better than none.
 *   - A re-read skips topics that this process wrote meanwhile: a write removes them from `rereading`. At the end of
 *     a load, it skips all of them: it may have begun before the load read them. They are read once more first.
 * Invariant: every changed topic is in `stale` or `rereading` until it has been read again. Only the echo of a
 *   write of this process (`ownWrites`) is not read again.
 */
export function createLiveTopicIndex(
  feed: TopicFeed,
  log: Logger,
  { keepsNamespaces = false }: { readonly keepsNamespaces?: boolean } = {},
): LiveTopicIndex {
  const closing = new AbortController();
  const firstLoad = Promise.withResolvers<undefined>();
  let state: State = { mode: "idle" };
  /** False once the feed is lost, even before everything is loaded again. */
  let isFollowing = false;
  let followedOn = 0;
  let lose: (error: unknown) => void = () => undefined;
  /** How often the feed was followed. */
  let followed = 0;
  /** Resolves with the next load, and when closed. */
  let live = Promise.withResolvers<undefined>();
  let loop: Promise<void> | undefined;
  let refreshLoop: Promise<void> | undefined;
  const stale = new Set<string>();
  let rereading = new Set<string>();
  /** The update time of what this process wrote, by external id. */
  const ownWrites = new Map<string, number>();

  const isClosed = (): boolean => closing.signal.aborted;
  const serving = (): TopicIndex | undefined => ("serving" in state ? state.serving : undefined);
  const currentLoad = (): Load | undefined => ("loading" in state ? state.loading : undefined);

  const getMode = (): State["mode"] => (state.mode === "live" && !isFollowing ? "reloading" : state.mode);

  const isUnread = (externalId: string): boolean => stale.has(externalId) || rereading.has(externalId);

  /** Brings one topic up to date, in both indexes while reloading; undefined removes it. */
  function apply(externalId: string, topic: IndexedTopic | undefined): void {
    rereading.delete(externalId);
    const load = currentLoad();
    load?.changedIds.add(externalId);
    if (load?.unconfirmed.delete(externalId) === true && load.unconfirmed.size === 0)
      load.confirmed.resolve(undefined);
    for (const index of [serving(), load?.index]) {
      if (topic === undefined) index?.delete(externalId);
      else index?.set(topic);
    }
  }

  /** Reads stale topics until none are left. */
  async function refresh(): Promise<void> {
    while (stale.size > 0 && !isClosed()) {
      rereading = new Set([...stale].slice(0, topicsPerRead));
      for (const id of rereading) stale.delete(id);
      try {
        const followedBefore = followed;
        const topics = await feed.find([...rereading]);
        if (followed !== followedBefore) {
          // A change since may have been missed, and the load may have read it already.
          for (const id of rereading) stale.add(id);
          continue;
        }
        const byId = new Map(topics.map((topic) => [topic.externalId, topic]));
        for (const id of rereading) apply(id, byId.get(id));
      } catch (error) {
        for (const id of rereading) stale.add(id);
        // An outage ends the feed by itself. Otherwise nothing else would say that changes are not known.
        if (!(error instanceof UnavailableError)) lose(error);
        await pause();
      }
    }
  }

  function markStale(externalIds: readonly string[]): void {
    // Once closed, nothing reads them any more.
    if (isClosed()) return;
    for (const id of externalIds) {
      stale.add(id);
      currentLoad()?.changedIds.add(id);
    }
    if (stale.size === 0) return;
    refreshLoop ??= refresh().finally(() => {
      refreshLoop = undefined;
      markStale([]);
    });
  }

  function handleFeed(changes: readonly TopicChange[]): void {
    const foreign = changes.filter(({ externalId, updatedOn }) => {
      if (updatedOn === undefined || ownWrites.get(externalId) !== updatedOn) return true;
      ownWrites.delete(externalId);
      return false;
    });
    if (foreign.length === 0) return;
    const ids = foreign.map(({ externalId }) => externalId);
    markStale(ids);
    // A store may report a change a moment before it can be read.
    setTimeout(() => {
      markStale(ids);
    }, rereadDelayMs).unref();
  }

  /**
   * Whether a write that was decided at this time may have been replaced since, and the newer version have been read: the
   * response can be late by the driver's timeouts, and each change is read a second time only after `rereadDelayMs`.
   */
  const isLate = (decidedOn: Date): boolean =>
    decidedOn.getTime() < Math.max(followedOn, now() - rereadDelayMs / 2);

  const pause = (): Promise<void> => sleep(retryDelayMs, closing.signal);

  function beginLoad(): Load {
    const loading = {
      index: createTopicIndex(log, keepsNamespaces),
      changedIds: new Set<string>(),
      unconfirmed: new Set<string>(),
      confirmed: Promise.withResolvers<undefined>(),
      topicsRead: 0,
    };
    const previous = serving();
    state =
      previous === undefined
        ? { mode: "loading", loading }
        : { mode: "reloading", serving: previous, loading };
    return loading;
  }

  /** Reads topics of which the load and a re-read at the same time may have found different versions. */
  async function confirm({ unconfirmed, confirmed }: Load, lost: Promise<undefined>): Promise<void> {
    const inProgress = [...rereading];
    rereading.clear();
    for (const id of [...stale, ...inProgress]) unconfirmed.add(id);
    if (unconfirmed.size === 0) return;
    markStale(inProgress);
    await Promise.race([confirmed.promise, lost]);
  }

  /** `lost` resolves when the index is closed, and rejects when the feed is lost. */
  async function load(lost: Promise<undefined>): Promise<void> {
    if (isClosed()) return;
    // Into an empty index: what was applied while the feed opened may have been removed unnoticed.
    const loading = beginLoad();
    const { index, changedIds } = loading;
    let reportedAt = Date.now();
    for await (const topics of feed.streamAll()) {
      if (isClosed() || !isFollowing) return;
      for (const topic of topics)
        if (!changedIds.has(topic.externalId) || isUnread(topic.externalId)) index.set(topic);
      loading.topicsRead += topics.length;
      if (Date.now() - reportedAt < progressIntervalMs) continue;
      reportedAt = Date.now();
      log.info({ topics: loading.topicsRead }, "loading topics");
    }
    await confirm(loading, lost);
    if (isClosed() || !isFollowing) return;
    state = { mode: "live", serving: index };
    firstLoad.resolve(undefined);
    live.resolve(undefined);
    live = Promise.withResolvers();
    log.info(index.status(), "topics loaded");
  }

  /** Follows the feed and loads; starts over whenever changes may have been missed. */
  async function run(): Promise<void> {
    while (!isClosed()) {
      let following: Following | undefined;
      const lost = Promise.withResolvers<undefined>();
      lost.promise.catch(() => undefined);
      const end = (): void => {
        lost.resolve(undefined);
      };
      lose = (error) => {
        isFollowing = false;
        lost.reject(error);
      };
      closing.signal.addEventListener("abort", end);
      try {
        ownWrites.clear();
        beginLoad();
        isFollowing = true;
        followedOn = now();
        following = await feed.follow({ onChanged: handleFeed, onLost: lose });
        followed += 1;
        await load(lost.promise);
        await lost.promise;
      } catch (error) {
        log.warn({ reason: getErrorMessage(error) }, "topics must be loaded again");
        await pause();
      } finally {
        closing.signal.removeEventListener("abort", end);
        await following?.close().catch(() => undefined);
      }
    }
  }

  function start(): void {
    loop ??= run();
  }

  async function waitForIndex(): Promise<TopicIndex> {
    start();
    if (serving() === undefined)
      await withTimeout(firstLoadTimeoutMs, firstLoad.promise).catch(() => undefined);
    const index = serving();
    if (index !== undefined) return index;
    throw new NotLoadedError(`topics are still being loaded; ${currentLoad()?.topicsRead ?? 0} so far`);
  }

  return {
    start,

    async pick(event) {
      const index = await waitForIndex();
      const ids = index.pick(event);
      const first = findFirst(ids, maxPickedTopics);
      const topics: PickableTopic[] = [];
      for (let at = 0, bytes = 0; at < first.length && bytes < maxPageBytes; at += recordsPerRead) {
        const read = await feed.find(first.slice(at, at + recordsPerRead));
        topics.push(...read);
        bytes += measureRecords(read);
      }
      return { topics: topics.sort((a, b) => (a.externalId < b.externalId ? -1 : 1)), total: ids.length };
    },

    async waitUntilLive() {
      start();
      if (getMode() !== "live") await live.promise;
    },
    pickNow: (event) => (getMode() === "live" ? serving()?.pick(event) : undefined),
    getNamespace: (externalId) => serving()?.getNamespace(externalId) ?? "",

    async explain(externalId, event) {
      const [topic] = await feed.find([externalId]);
      return topic === undefined ? undefined : explain(readFilters(topic), event);
    },

    changed({ removed = [], retired = [], updated = [], created = [] }) {
      if (state.mode === "idle" || state.mode === "closed") return;
      const late = new Set<string>();
      for (const { externalId } of removed) apply(externalId, undefined);
      for (const { topic, retiredOn } of retired) {
        apply(topic.externalId, undefined);
        if (isLate(retiredOn)) late.add(topic.externalId);
      }
      for (const topic of [...updated, ...created]) {
        const { externalId, updatedOn } = topic;
        apply(externalId, topic);
        ownWrites.set(externalId, updatedOn.getTime());
        if (isLate(updatedOn)) late.add(externalId);
      }
      for (const id of late) ownWrites.delete(id);
      markStale([...late]);
    },

    status: () => ({
      mode: getMode(),
      ...(serving()?.status() ?? { topics: 0, unconditional: 0, unreadable: 0 }),
      topicsRead: currentLoad()?.topicsRead,
    }),

    async close() {
      closing.abort();
      state = { mode: "closed" };
      firstLoad.resolve(undefined);
      live.resolve(undefined);
      await loop;
      await refreshLoop;
    },
  };
}

/** The first texts in order. Sorting all of a million would block the process for seconds. */
function findFirst(texts: readonly string[], count: number): string[] {
  let first: string[] = [];
  let limit: string | undefined;
  for (const text of texts) {
    if (limit !== undefined && text >= limit) continue;
    first.push(text);
    if (first.length < 2 * count) continue;
    first = first.sort().slice(0, count);
    limit = first.at(-1);
  }
  return first.sort().slice(0, count);
}
