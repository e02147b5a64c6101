/**
 * The topics of the router's world in the simulated MongoDB, where the processes follow them by the product's
 * own feed, and where both the processes and others change them.
 */
import type { Logger } from "pino";
import type { EventHandlerOptions } from "../../consumers/events/handler.ts";
import { UnavailableError } from "../../src/lib/errors.ts";
import { currentDate } from "../../src/lib/platform.ts";
import type { TopicFeed } from "../../src/matching/feed.ts";
import type { LiveTopicIndex } from "../../src/matching/live-topic-index.ts";
import type { Database } from "../../src/storage/database.ts";
import { collections } from "../../src/storage/names.ts";
import { createTopicFeed } from "../../src/storage/topic-feed.ts";
import {
  toRetiredId,
  toRetiredRecord,
  toTopicRecord,
  type RetiredRecord,
  type TopicRecord,
} from "../../src/storage/topic-records.ts";
import type { RetiredTopic, Topic } from "../../src/topics/topic.ts";
import { createHost, type Clock, type Host } from "./clock.ts";
import type { MongoServer } from "./mongo/server.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
import { createIndexWatch, type IndexWatch } from "./router-index.ts";
import type { RouterAction } from "./router-steps.ts";
import { createTopicVersions, namespaces, type TopicVersion } from "./router-versions.ts";
import { Violation } from "./violation.ts";

/**
 * How long a process may use what an election took back, or was replaced, after the last fault of the store.
 */
export const settleMs = 90_000;

/** What a process must know of the topics at a time. */
export interface Knowledges {
  readonly at: number;
  /** The number of the oldest version of each topic that it may use. */
  readonly first: ReadonlyMap<string, number>;
}

type Race = Extract<RouterAction, { do: "race topic" }>;

interface Writer {
  readonly host: Host;
  readonly database: Database;
  readonly changed: LiveTopicIndex["changed"];
}

export type RouterTopics = ReturnType<typeof createRouterTopics>;

interface RouterTopicsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly server: MongoServer;
  readonly log: Logger;
  readonly openDatabase: (host: Host) => Database;
}

export function createRouterTopics(
  { clock, random, network, server, log, openDatabase }: RouterTopicsOptions,
  count: number,
) {
  const versions = createTopicVersions(
    {
      clock,
      server,
      onRollback() {
        for (const watch of watches.values()) watch.forget();
      },
    },
    count,
  );
  const { ids, define } = versions;
  const databases = new Map<Host, Database>();
  const updateTimes = new Map<string, number>();
  const writers = new Map<Host, Writer>();
  const watches = new Map<Host, IndexWatch>();
  /** How many requests of a process are slow when it loads the topics next. */
  const slowRequests = new Map<Host, number>();
  /** Processes whose feed was lost and which have not loaded the topics since. */
  const unloaded = new Set<Host>();
  const isCalm = random.chance(0.4);
  /**
   * How soon a change is known while nothing disturbs the store. After faults of change streams, processes
   * may poll.
   */
  const noticeMs = server.options.isReplicaSet && isCalm ? 2_000 : 13_000;
  let disturbedUntil = -Infinity;

  function connect(host: Host): Database {
    const database = openDatabase(host);
    database.connect(new AbortController().signal).catch(clock.fail);
    databases.set(host, database);
    return database;
  }

  const others: Writer = (() => {
    const host = createHost("administrator");
    let database: Database | undefined;
    return {
      host,
      get database() {
        return (database ??= connect(host));
      },
      changed: () => undefined,
    };
  })();

  /** Each version of a record has a later time, also if it is removed and stored again in between. */
  function getUpdateTime(id: string): Date {
    const time = Math.max(currentDate().getTime(), (updateTimes.get(id) ?? 0) + 1);
    updateTimes.set(id, time);
    return new Date(time);
  }

  /**
   * Stores a version, or removes the topic. Reports it to the process that wrote it, some time after it is
   * acknowledged.
   */
  async function write(
    { database, ...writer }: Writer,
    id: string,
    variant: number | undefined,
    answerMs = 0,
  ): Promise<void> {
    const changed: Writer["changed"] = (writes) => {
      clock.schedule(writer.host, answerMs, () => {
        writer.changed(writes);
      });
    };
    const topics = database.collection<TopicRecord>(collections.topics);
    const source = { kind: "http", user: "admin" } as const;
    if (variant !== undefined) {
      const at = getUpdateTime(id);
      const topic: Topic = { ...define(id, variant), source, createdOn: at, updatedOn: at };
      const { _id, ...fields } = toTopicRecord(topic);
      await database.run(() => topics.replaceOne({ _id }, fields, { upsert: true }));
      changed({ updated: [topic] });
      return;
    }
    const stored = await database.run(() => topics.findOne({ _id: id }));
    if (stored === null) return;
    const updatedOn = stored.sys_updated_on;
    const topic = { ...define(id, 0), source, createdOn: updatedOn, updatedOn };
    // Another process, whose clock is behind, may store the topic again with an earlier time.
    const retired: RetiredTopic = { topic, retiredOn: currentDate(), retiredBy: source };
    const remove = async (options: object): Promise<void> => {
      await database
        .collection<RetiredRecord>(collections.retiredTopics)
        .replaceOne({ _id: toRetiredId(retired) }, toRetiredRecord(retired), { ...options, upsert: true });
      // Without a transaction, the process may end in between, and another one removes the topic later.
      if (!server.options.isReplicaSet && random.chance(0.3))
        await new Promise<void>((resolve) => {
          clock.schedule(writer.host, random.between(1_000, 15_000), resolve);
        });
      await topics.deleteOne({ _id: id }, options);
    };
    const session = database.startSession();
    if (session === undefined) await database.run(() => remove({}));
    else await database.runTransaction(session, () => remove({ session }));
    changed({ retired: [retired] });
  }

  /** Checks the index of a process once it has taken in what was read. */
  function checkSoon(host: Host): void {
    clock.schedule(host, 0, () => {
      try {
        watches.get(host)?.check();
      } catch (error) {
        clock.fail(error);
      }
    });
  }

  const listAlive = (): readonly Writer[] =>
    [...writers.values()].filter(({ host }) => host.alive && host.frozenUntil <= clock.getTime());

  function start(
    writer: Writer,
    index: number,
    {
      variant,
      pauseMs = 0,
      answerMs,
    }: { readonly variant: number | undefined; readonly pauseMs?: number; readonly answerMs?: number },
  ): void {
    clock.schedule(writer.host, pauseMs, () => {
      write(writer, ids[index % count] ?? "", variant, answerMs).catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) clock.fail(error);
      });
    });
  }

  return {
    ids,
    namespaces,
    /** Whether nothing disturbs the store in this world, so that every change must be known soon. */
    isCalm,

    /** Writes the next version of a topic; without a variant it is removed. */
    change(index: number, variant: number | undefined): void {
      const alive = listAlive();
      const own = random.chance(0.5) ? alive[random.between(0, alive.length)] : undefined;
      start(own ?? others, index, { variant });
    },

    /** A process and somebody else change a topic at about the same time. */
    race({ id, variant, other, pauseMs, answerMs }: Race): void {
      const alive = listAlive();
      start(alive[random.between(0, alive.length)] ?? others, id, { variant, answerMs });
      start(others, id, { variant: other, pauseMs });
    },

    /** The next loads of the processes have some slow requests. */
    slowDownLoads(count: number): void {
      for (const host of writers.keys()) slowRequests.set(host, count);
    },

    /** Something disturbs the store, or its connections, until a time. */
    noteDisturbance(until: number): void {
      disturbedUntil = Math.max(disturbedUntil, until);
    },

    /** The product's feed, on the simulated store. */
    createFeed(host: Host): TopicFeed {
      const feed = createTopicFeed(connect(host), log);
      let isFollowed = false;
      return {
        async find(externalIds) {
          const onFound = watches.get(host)?.beginRead(externalIds);
          const found = await feed.find(externalIds);
          onFound?.(found);
          checkSoon(host);
          return found;
        },
        async *streamAll() {
          const wasFollowed = isFollowed;
          for (let left = slowRequests.get(host) ?? 0; left > 0; left -= 1)
            network.disturb(host, server.host, "slow");
          slowRequests.delete(host);
          yield* feed.streamAll();
          if (wasFollowed && isFollowed) unloaded.delete(host);
          checkSoon(host);
        },
        async follow(listener) {
          const following = await feed.follow({
            onChanged: listener.onChanged,
            onLost(error) {
              isFollowed = false;
              unloaded.add(host);
              watches.get(host)?.forget();
              listener.onLost(error);
            },
          });
          isFollowed = true;
          return following;
        },
      };
    },

    /**
     * Lets a process change topics, and checks that it uses its index only while that follows every change.
     */
    guard(host: Host, index: LiveTopicIndex): EventHandlerOptions["index"] {
      const database = databases.get(host);
      const watch = createIndexWatch({
        name: host.name,
        ids,
        getVersions: versions.get,
        pickNow: (event) => index.pickNow(event),
      });
      watches.set(host, watch);
      const changed: LiveTopicIndex["changed"] = (writes) => {
        const { updated = [], retired = [] } = writes;
        watch.forget([...updated, ...retired.map(({ topic }) => topic)].map(({ externalId }) => externalId));
        index.changed(writes);
      };
      if (database !== undefined) writers.set(host, { host, database, changed });
      return {
        waitUntilLive: () => index.waitUntilLive(),
        status: index.status,
        getNamespace: index.getNamespace,
        pickNow(event) {
          const picked = index.pickNow(event);
          if (picked !== undefined && unloaded.has(host))
            clock.fail(new Violation(`${host.name} uses its index although changes may have been missed`));
          return picked;
        },
      };
    },

    /** Once nothing has disturbed the store for long, the indexes hold the last version of each topic. */
    checkLast(): void {
      for (const [host, watch] of watches) if (host.alive) watch.checkLast();
    },

    /** The last version of each topic. */
    listLast: (): readonly TopicVersion[] =>
      ids.flatMap((id) => versions.get(id).findLast(({ lostAt }) => lostAt === Infinity) ?? []),

    recordKnowledge(): Knowledges {
      const now = clock.getTime();
      const isSettled = now >= disturbedUntil + settleMs;
      const first = new Map<string, number>();
      for (const id of ids) {
        const due = versions
          .get(id)
          .findLast(({ storedAt, lostAt }) => storedAt < now - noticeMs && lostAt === Infinity);
        first.set(id, isSettled ? (due?.number ?? 0) : 0);
      }
      return { at: now, first };
    },

    /** The versions from what a process knew until a time, oldest first. */
    listUsable: (id: string, { at, first }: Knowledges, until: number): readonly TopicVersion[] =>
      versions
        .get(id)
        .filter(
          ({ number, storedAt, lostAt }) =>
            number >= (first.get(id) ?? 0) && storedAt <= until && lostAt + settleMs > at,
        ),
  };
}
