import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { getErrorMessage, NotLoadedError, UnavailableError } from "../lib/errors.ts";
import { FilterSyntaxError } from "./filter/filter.ts";
import { explain, readFilters, type ConditionResult } from "./filter/topic-filters.ts";
import type { Logger } from "../lib/logger.ts";
import { createPicker, type Picker } from "./picker/picker.ts";
import type { TopicWrites } from "../topics/snapshot.ts";
import type { Following, PickableTopic, TopicChange, TopicFeed } from "./feed.ts";

/** Tells which stored topics an event belongs to, in step with whatever is written. */
export interface LiveTopicIndex {
  /** Begins to load the topics. */
  start(): void;
  /**
   * Returns the topics of an event, sorted by external id. The first call starts loading the topics and, like every call until
   * they are loaded, waits for them for up to 10 s. Throws NotLoadedError after that, and UnavailableError.
   */
  pick(event: unknown): Promise<PickableTopic[]>;
  /** Each condition of a topic against an event; undefined for a topic that is not stored. Throws UnavailableError, FilterSyntaxError. */
  explain(externalId: string, event: unknown): Promise<ConditionResult[] | undefined>;
  /** Told what this process has written. */
  readonly changed: (writes: Partial<TopicWrites>) => void;
  readonly status: () => { readonly topics: number; readonly unreadable: number };
  close(): Promise<void>;
}

const waitForLoadMs = 10_000;
const waitAfterFailureMs = 1_000;
const readAgainAfterMs = 1_000;
const changesPerTurn = 1_000;
const tellEveryMs = 5_000;

/** What is picked from, with the external ids of the topics that are left out since a filter of theirs cannot be read. */
interface Loaded {
  readonly picker: Picker;
  readonly unreadable: Set<string>;
}

/** Makes the directory; nothing is loaded before the first question. */
export function createLiveTopicIndex(feed: TopicFeed, log: Logger): LiveTopicIndex {
  const closing = new AbortController();
  /** What is asked; undefined until everything was loaded once. */
  let current: Loaded | undefined;
  let running: Promise<void> | undefined;
  const loads = new EventEmitter().setMaxListeners(0);
  let loaded = 0;
  /** Topics that have to be read again. */
  const dirty = new Set<string>();
  /** Topics that changed while everything is being loaded: what was loaded of them may be older. */
  let meanwhile: Set<string> | undefined;
  /** Topics that this process wrote while some were being read: what was read of them may be older. */
  let written: Set<string> | undefined;
  let refreshing: Promise<void> | undefined;
  /** What this process wrote, by the time in the record: the feed tells it once more. */
  const own = new Map<string, number>();

  function put({ picker, unreadable }: Loaded, topic: PickableTopic): void {
    try {
      picker.set(topic.externalId, topic);
      unreadable.delete(topic.externalId);
    } catch (error) {
      if (!(error instanceof FilterSyntaxError)) throw error;
      picker.delete(topic.externalId);
      unreadable.add(topic.externalId);
      log.warn(
        { externalId: topic.externalId, reason: getErrorMessage(error) },
        "a stored topic is never picked, since its filter cannot be read",
      );
    }
  }

  function drop({ picker, unreadable }: Loaded, externalId: string): void {
    picker.delete(externalId);
    unreadable.delete(externalId);
  }

  /** Reads topics again until nothing is left to read. What the store says is always newer than what was known. */
  async function refresh(): Promise<void> {
    while (dirty.size > 0 && current !== undefined && !closing.signal.aborted) {
      const ids = [...dirty].slice(0, changesPerTurn);
      for (const id of ids) dirty.delete(id);
      written = new Set();
      try {
        const found = new Map((await feed.find(ids)).map((topic) => [topic.externalId, topic]));
        for (const id of ids) {
          const topic = found.get(id);
          if (written.has(id)) continue;
          if (topic === undefined) drop(current, id);
          else put(current, topic);
        }
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        for (const id of ids) dirty.add(id);
        await pause();
      }
    }
    written = undefined;
  }

  function mark(ids: Iterable<string>): void {
    for (const id of ids) {
      dirty.add(id);
      meanwhile?.add(id);
    }
    // Once closed, nothing is read any more: what is left would be asked for again and again, without a pause.
    if (current === undefined || dirty.size === 0 || closing.signal.aborted) return;
    refreshing ??= refresh().finally(() => {
      refreshing = undefined;
      if (dirty.size > 0) mark([]);
    });
    refreshing.catch((error: unknown) => {
      log.error({ err: error }, "the topics could not be read again");
    });
  }

  function heard(changes: readonly TopicChange[]): void {
    const foreign = changes.filter(({ externalId, updatedOn }) => {
      if (updatedOn === undefined || own.get(externalId) !== updatedOn) return true;
      own.delete(externalId);
      return false;
    });
    if (foreign.length === 0) return;
    const ids = foreign.map(({ externalId }) => externalId);
    mark(ids);
    // A store may tell of a change a moment before it can be read.
    const again = setTimeout(() => {
      mark(ids);
    }, readAgainAfterMs);
    again.unref();
  }

  const pause = (): Promise<void> =>
    sleep(waitAfterFailureMs, undefined, { signal: closing.signal }).catch(() => undefined);

  async function load(): Promise<void> {
    const next: Loaded = { picker: createPicker(), unreadable: new Set() };
    const changes = (meanwhile = new Set<string>());
    loaded = 0;
    let told = Date.now();
    for await (const topic of feed.all()) {
      put(next, topic);
      loaded += 1;
      if (closing.signal.aborted) return;
      if (Date.now() - told < tellEveryMs) continue;
      told = Date.now();
      log.info({ topics: loaded }, "loading the topics for picking");
    }
    current = next;
    meanwhile = undefined;
    loads.emit("loaded");
    log.info({ topics: next.picker.size, unreadable: next.unreadable.size }, "topics can be picked");
    mark(changes);
  }

  /** Loads and follows; begins anew whenever something may have been missed. What was loaded is asked meanwhile. */
  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      let following: Following | undefined;
      const lost = Promise.withResolvers<undefined>();
      lost.promise.catch(() => undefined);
      const end = (): void => {
        lost.resolve(undefined);
      };
      closing.signal.addEventListener("abort", end);
      try {
        own.clear();
        following = await feed.follow({ changed: heard, lost: lost.reject });
        await load();
        await lost.promise;
      } catch (error) {
        log.warn({ reason: getErrorMessage(error) }, "the topics for picking have to be loaded again");
        await pause();
      } finally {
        closing.signal.removeEventListener("abort", end);
        await following?.close().catch(() => undefined);
      }
    }
  }

  function start(): void {
    running ??= run();
  }

  async function ready(): Promise<Loaded> {
    start();
    if (current === undefined) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(waitForLoadMs)]);
      await once(loads, "loaded", { signal }).catch(() => undefined);
    }
    if (current === undefined)
      throw new NotLoadedError(`the topics are being loaded for picking; ${loaded} are there already`);
    return current;
  }

  return {
    start,

    async pick(event) {
      const ids = (await ready()).picker.pick(event);
      const topics: PickableTopic[] = [];
      for (let at = 0; at < ids.length; at += changesPerTurn) {
        topics.push(...(await feed.find(ids.slice(at, at + changesPerTurn))));
      }
      return topics.sort((a, b) => (a.externalId < b.externalId ? -1 : 1));
    },

    async explain(externalId, event) {
      const [topic] = await feed.find([externalId]);
      return topic === undefined ? undefined : explain(readFilters(topic), event);
    },

    changed({ removed = [], retired = [], updated = [], created = [] }) {
      if (running === undefined) return;
      const gone = [...removed, ...retired.map(({ topic }) => topic)];
      const there = [...updated, ...created];
      for (const { externalId, updatedOn } of there) own.set(externalId, updatedOn.getTime());
      const ids = [...gone, ...there].map(({ externalId }) => externalId);
      if (current === undefined || meanwhile !== undefined) mark(ids);
      if (current === undefined) return;
      for (const { externalId } of gone) drop(current, externalId);
      for (const topic of there) put(current, topic);
      for (const id of ids) written?.add(id);
    },

    status: () => ({ topics: current?.picker.size ?? 0, unreadable: current?.unreadable.size ?? 0 }),

    async close() {
      closing.abort();
      await running;
      await refreshing?.catch(() => undefined);
    },
  };
}
