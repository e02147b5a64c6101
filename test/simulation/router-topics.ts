/**
 * The topics of the router's world in the simulated MongoDB, where the processes follow them by the product's
 * own feed, and where both the processes and others change them.
 */
import type { Logger } from "pino";
import type { EventHandlerOptions } from "../../consumers/events/handler.ts";
import type { TopicFeed } from "../../src/topics/live/feed.ts";
import type { LiveTopicIndex } from "../../src/topics/live/live-topic-index.ts";
import type { Database } from "../../src/storage/database/database.ts";
import { createTopicFeed } from "../../src/storage/topics/feed.ts";
import {
  createHost,
  type Clock,
  type Host,
  type MongoServer,
  type Network,
  type Random,
} from "../simulated-servers/index.ts";
import { createIndexWatch, type IndexWatch } from "./router-index.ts";
import type { RouterAction } from "./router-actions.ts";
import { TopicChanges, type Writer } from "./router-topic-changes.ts";
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
type Rename = Extract<RouterAction, { do: "rename topic" }>;

interface RouterTopicsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  readonly server: MongoServer;
  readonly log: Logger;
  readonly openDatabase: (host: Host) => Database;
}

/** Somebody else who changes topics, and who connects for the first change. */
function createOthers(connect: (host: Host) => Database): Writer {
  const host = createHost("administrator");
  let database: Database | undefined;
  return {
    host,
    get database() {
      return (database ??= connect(host));
    },
    changed: () => Promise.resolve(),
  };
}

/** The stored topics, their versions, and the processes that follow them. */
export class RouterTopics {
  readonly #options: RouterTopicsOptions;
  readonly #count: number;
  readonly #versions: ReturnType<typeof createTopicVersions>;
  /** The external ids of the topics. */
  readonly ids: readonly string[];
  readonly namespaces = namespaces;
  readonly #databases = new Map<Host, Database>();
  readonly #changes: TopicChanges;
  readonly #writers = new Map<Host, Writer>();
  readonly #watches = new Map<Host, IndexWatch>();
  /** How many requests of a process are slow when it loads the topics next. */
  readonly #slowRequests = new Map<Host, number>();
  /** Processes whose feed was lost and which have not loaded the topics since. */
  readonly #unloaded = new Set<Host>();
  /** Whether nothing disturbs the store in this world, so that every change must be known soon. */
  readonly isCalm: boolean;
  /**
   * How soon a change is known while nothing disturbs the store. After faults of change streams, processes
   * may poll.
   */
  readonly #noticeMs: number;
  #disturbedUntil = -Infinity;
  readonly #others = createOthers((host) => this.#connect(host));

  constructor(options: RouterTopicsOptions, count: number) {
    this.#options = options;
    this.#count = count;
    this.#versions = createTopicVersions(
      {
        clock: options.clock,
        server: options.server,
        onRollback: () => {
          for (const watch of this.#watches.values()) watch.forget();
        },
      },
      this.#count,
    );
    this.ids = this.#versions.ids;
    this.#changes = new TopicChanges(options, this.#versions);
    this.isCalm = options.random.chance(0.4);
    this.#noticeMs = options.server.options.isReplicaSet && this.isCalm ? 2_000 : 13_000;
  }

  /** External ids may move from one topic to another. */
  expectRenames(): void {
    this.#changes.hasRenames = true;
  }

  /** Writes the next version of a topic; without a variant it is removed. */
  change(index: number, variant: number | undefined): void {
    this.#changes.start(this.#chooseWriter(), index, { variant });
  }

  /** Gives a topic other external ids, one after another, unless another topic has them. */
  rename({ id, to, variant, pauseMs }: Rename): void {
    this.#changes.startRenames(this.#chooseWriter(), { ids: [id, ...to], variant, pauseMs });
  }

  /** A process and somebody else change a topic at about the same time. */
  race({ id, variant, other, pauseMs, answerMs }: Race): void {
    const alive = this.#listAlive();
    this.#changes.start(alive[this.#options.random.between(0, alive.length)] ?? this.#others, id, {
      variant,
      answerMs,
    });
    this.#changes.start(this.#others, id, { variant: other, pauseMs });
  }

  /** The next loads of the processes have some slow requests. */
  slowDownLoads(count: number): void {
    for (const host of this.#writers.keys()) this.#slowRequests.set(host, count);
  }

  /** Something disturbs the store, or its connections, until a time. */
  noteDisturbance(until: number): void {
    this.#disturbedUntil = Math.max(this.#disturbedUntil, until);
  }

  /** The product's feed, on the simulated store. */
  createFeed(host: Host): TopicFeed {
    const feed = createTopicFeed(this.#connect(host), this.#options.log);
    let isFollowed = false;
    const slowDown = (): void => {
      for (let left = this.#slowRequests.get(host) ?? 0; left > 0; left -= 1)
        this.#options.network.disturb(host, this.#options.server.host, "slow");
      this.#slowRequests.delete(host);
    };
    const onLoaded = (isComplete: boolean): void => {
      if (isComplete) this.#unloaded.delete(host);
      this.#checkSoon(host);
    };
    return {
      find: async (externalIds) => {
        const onFound = this.#watches.get(host)?.beginRead(externalIds);
        const found = await feed.find(externalIds);
        onFound?.(found);
        this.#checkSoon(host);
        return found;
      },
      async *streamAll() {
        const wasFollowed = isFollowed;
        slowDown();
        yield* feed.streamAll();
        onLoaded(wasFollowed && isFollowed);
      },
      follow: async (listener) => {
        const following = await feed.follow({
          onChanged: listener.onChanged,
          onLost: (error) => {
            isFollowed = false;
            this.#unloaded.add(host);
            this.#watches.get(host)?.forget();
            listener.onLost(error);
          },
        });
        isFollowed = true;
        return following;
      },
    };
  }

  /**
   * Lets a process change topics, and checks that it uses its index only while that follows every change.
   */
  guard(host: Host, index: LiveTopicIndex): EventHandlerOptions["index"] {
    const database = this.#databases.get(host);
    const watch = createIndexWatch({
      name: host.name,
      ids: this.ids,
      getVersions: this.#versions.get,
      pickNow: (event) => index.pickNow(event),
    });
    this.#watches.set(host, watch);
    const changed: LiveTopicIndex["changed"] = (writes) => {
      const { updated = [], created = [], retired = [], replaced = [] } = writes;
      const ended = [...retired, ...replaced].map(({ topic }) => topic);
      watch.forget([...updated, ...created, ...ended].map(({ externalId }) => externalId));
      return index.changed(writes);
    };
    if (database !== undefined) this.#writers.set(host, { host, database, changed });
    return {
      waitUntilLive: () => index.waitUntilLive(),
      status: index.status,
      getNamespace: index.getNamespace,
      takeMissedTimes: index.takeMissedTimes,
      countPicked: () => {
        index.countPicked();
      },
      pickNow: (event) => {
        const picked = index.pickNow(event);
        if (picked !== undefined && this.#unloaded.has(host))
          this.#options.clock.fail(
            new Violation(`${host.name} uses its index although changes may have been missed`),
          );
        return picked;
      },
    };
  }

  /** Once nothing has disturbed the store for long, the indexes hold the last version of each topic. */
  checkLast(): void {
    for (const [host, watch] of this.#watches) if (host.alive) watch.checkLast();
  }

  /** The last version of each topic. */
  listLast(): readonly TopicVersion[] {
    return this.ids.flatMap(
      (id) => this.#versions.get(id).findLast(({ lostAt }) => lostAt === Infinity) ?? [],
    );
  }

  recordKnowledge(): Knowledges {
    const now = this.#options.clock.getTime();
    const isSettled = now >= this.#disturbedUntil + settleMs;
    const first = new Map<string, number>();
    for (const id of this.ids) {
      const due = this.#versions
        .get(id)
        .findLast(({ storedAt, lostAt }) => storedAt < now - this.#noticeMs && lostAt === Infinity);
      first.set(id, isSettled ? (due?.number ?? 0) : 0);
    }
    return { at: now, first };
  }

  /** The versions from what a process knew until a time, oldest first. */
  listUsable(id: string, { at, first }: Knowledges, until: number): readonly TopicVersion[] {
    return this.#versions
      .get(id)
      .filter(
        ({ number, storedAt, lostAt }) =>
          number >= (first.get(id) ?? 0) && storedAt <= until && lostAt + settleMs > at,
      );
  }

  #connect(host: Host): Database {
    const database = this.#options.openDatabase(host);
    database.connect(new AbortController().signal).catch(this.#options.clock.fail);
    this.#databases.set(host, database);
    return database;
  }

  /** Checks the index of a process once it has taken in what was read. */
  #checkSoon(host: Host): void {
    this.#options.clock.schedule(host, 0, () => {
      try {
        this.#watches.get(host)?.check();
      } catch (error) {
        this.#options.clock.fail(error);
      }
    });
  }

  /** One of the processes, or somebody else. */
  #chooseWriter(): Writer {
    const alive = this.#listAlive();
    const own = this.#options.random.chance(0.5)
      ? alive[this.#options.random.between(0, alive.length)]
      : undefined;
    return own ?? this.#others;
  }

  #listAlive(): readonly Writer[] {
    return [...this.#writers.values()].filter(
      ({ host }) => host.alive && host.frozenUntil <= this.#options.clock.getTime(),
    );
  }
}
